#include "schedule/cost.h"
#include "schedule/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

/// Round figures: 10 ns per token, 1 ns per pair, 7 ns per remote token and 2 more never hidden, 50 per
/// exchange step, 100 per segment, 1000 per wave.
CostModel round_cost() {
  CostModel cost;
  cost.linear_ns = 10;
  cost.quadratic_ns = 1;
  cost.transfer_ns = 7;
  cost.latency_ns = 50;
  cost.exchange_ns = 2;
  cost.sample_overhead_ns = 100;
  cost.wave_overhead_ns = 1000;
  cost.allreduce_ns = 5;
  return cost;
}

/// What `read_cost` says of a file "...bad.toml" with this text; empty: it is accepted.
std::string read_error(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "-bad.toml";
  write_file_atomically(path, text);
  try {
    read_cost(path);
  } catch (const UsageError& problem) { return problem.what(); }
  return "";
}

std::string file_text(const CostModel& cost) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "-whole.toml";
  write_cost(path, cost);
  return read_file(path);
}

/// The lines "key = value" of a file, each with its line end.
std::vector<std::string> assignments(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find(" = ") != std::string::npos && line[0] != '#') lines.push_back(line + "\n");
  return lines;
}

std::string with_value(std::string text, const std::string& key, const std::string& value) {
  const size_t begin = text.find("\n" + key + " = ") + 1;
  return text.replace(begin, text.find('\n', begin) - begin, key + " = " + value);
}

TEST(Cost, ShardTimeFollowsTheFormula) {
  EXPECT_EQ(shard_ns(round_cost(), 20, {}), 100 + 200 + 400);
  EXPECT_EQ(shard_ns(round_cost(), 20, {30}), 100 + 200 + 400 + 600 + 60);  // attention hides 7 x 30 + 50
  EXPECT_EQ(shard_ns(round_cost(), 4, {30, 9}), 100 + 40 + 16 + 260 + (63 + 50) + 78);  // it doesn't
}

TEST(Cost, FileRoundTripKeepsEveryBit) {
  const std::string path = testing::TempDir() + "/cost.toml";
  CostModel cost = round_cost();
  cost.name = "a \"set\" # with, all of it";
  cost.linear_ns = 1.0 / 3;
  cost.memory_per_rank = 123456789012345;
  cost.fit_error = 0.034;
  write_cost(path, cost);
  const CostModel back = read_cost(path);
  EXPECT_EQ(hash_of(back), hash_of(cost));
  EXPECT_EQ(back.name, cost.name);
  EXPECT_EQ(back.linear_ns, cost.linear_ns);
  EXPECT_EQ(back.memory_per_rank, cost.memory_per_rank);
  EXPECT_NE(hash_of(back), hash_of(round_cost()));
  EXPECT_EQ(hash_of(find_cost(path)), hash_of(cost));
}

TEST(Cost, BadFilesAndNamesAreRefused) {
  for (const char* text : {"[cost]\nlinear-ns = \"fast\"\n", "[cost]\nspeed = 1\n"})
    EXPECT_NE(read_error(text).find("bad.toml:2: "), std::string::npos) << text;
  try {
    find_cost("nowhere");
    ADD_FAILURE();
  } catch (const UsageError& problem) {
    EXPECT_NE(std::string(problem.what()).find("h100"), std::string::npos) << problem.what();
  }
  EXPECT_EQ(find_cost("data-sheet").name, "data-sheet");
  for (const CostModel& set : built_in_costs())
    EXPECT_NE(set.device.find("data-sheet"), std::string::npos) << set.name;
}

TEST(Cost, FilesThatLackAFieldAreRefusedByItsName) {
  for (const std::string text : {"", "[cost]\n", "# nothing\n"})
    for (const char* said : {"bad.toml: ", "linear-ns, quadratic-ns", "fit-error", "zoetrope profile --out"})
      EXPECT_NE(read_error(text).find(said), std::string::npos) << said << ": " << read_error(text);
  const std::string whole = file_text(round_cost());
  EXPECT_EQ(read_error(whole), "");
  for (const std::string& line : assignments(whole)) {
    std::string text = whole;
    const std::string key = line.substr(0, line.find(' '));
    text.erase(text.find("\n" + line) + 1, line.size());
    const std::string error = read_error(text);
    const std::set<std::string> younger{
        "exchange-ns",       "transfer-between-ns", "latency-between-ns",   "num-heads",
        "all-to-all-ns",     "short-block-tokens",  "optimizer-ns",         "num-layers",
        "linear-forward-ns", "linear-recompute-ns", "quadratic-forward-ns", "quadratic-recompute-ns",
        "linear-flops",      "quadratic-flops"};
    if (younger.count(key)) EXPECT_EQ(error, "") << "files from before it was measured";
    else EXPECT_NE(error.find("bad.toml: table [cost] lacks " + key + ";"), std::string::npos) << error;
  }
}

// A cut on the way to the last value can't be told from a whole file; that one is a remark on the fit.
TEST(Cost, EveryCutBeforeTheLastValueIsRefused) {
  const std::string whole = file_text(round_cost());
  const size_t last = whole.find("fit-error = ") + std::string("fit-error = ").size();
  for (size_t length = 0; length < last; ++length)
    EXPECT_NE(read_error(whole.substr(0, length)), "") << length;
}

TEST(Cost, ValuesOutOfRangeAreNamedWithWhatWasExpected) {
  const std::string whole = file_text(round_cost());
  std::vector<std::pair<std::string, std::string>> bad{
      {"gemm-flops", "-1.0"},        {"gemm-flops", "1e30"},       {"gemm-flops", "10.0"},
      {"memory-per-rank", "-1"},     {"memory-per-rank", "100"},   {"memory-per-rank", "9223372036854775807"},
      {"ranks-per-node", "0"},       {"ranks-per-node", "-4"},     {"ranks-per-node", "1000000"},
      {"fit-error", "-0.5"},         {"linear-ns", "-1.0"},        {"linear-ns", "1e10"},
      {"allreduce-ns", "1e300"},     {"num-heads", "-1"},          {"num-layers", "-1"},
      {"linear-forward-ns", "-1.0"}, {"linear-forward-ns", "1e9"}, {"quadratic-recompute-ns", "1e9"},
      {"linear-flops", "-1.0"}};
  for (const std::string& line : assignments(whole)) {
    const std::string key = line.substr(0, line.find(' '));
    if (line.find('"') != std::string::npos || key == "memory-per-rank" || key == "ranks-per-node" ||
        key == "num-heads" || key == "num-layers")
      continue;
    for (const char* value : {"nan", "inf", "-inf"}) bad.emplace_back(key, value);
  }
  for (const auto& [key, value] : bad) {
    const std::string error = read_error(with_value(whole, key, value));
    for (const std::string& said :
         {std::string("bad.toml: cost: "), key + " is ", std::string(", expected ")})
      EXPECT_NE(error.find(said), std::string::npos) << key << " = " << value << ": " << error;
  }
  const std::string idle = with_value(with_value(whole, "linear-ns", "0.0"), "quadratic-ns", "0.0");
  EXPECT_NE(read_error(idle).find("linear-ns and quadratic-ns are both 0"), std::string::npos);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"gemm-flops", "0.0"},
                                                        {"memory-per-rank", "0"},
                                                        {"memory-per-rank", "1048576"},
                                                        {"latency-ns", "0"}})
    EXPECT_EQ(read_error(with_value(whole, key, value)), "") << key;
}

TEST(Memory, CapIsTheLargestThatFits) {
  const MemoryModel memory{1000, 40, 16, 10};
  const Cluster cluster = cluster_for_memory(memory, 3, 6123, 4, 5);
  EXPECT_EQ(cluster.num_slots, 3);
  EXPECT_EQ(cluster.tokens_per_slot, (6123 - 1000 - 64) / 50);
  EXPECT_LE(peak_bytes(memory, cluster), 6123);
  EXPECT_GT(peak_bytes(memory, {3, cluster.tokens_per_slot + 1, 4}), 6123);
  EXPECT_THROW(cluster_for_memory(memory, 3, 6123, 4, 102), Error);
  EXPECT_THROW(cluster_for_memory(memory, 3, 900, 4, 1), Error);
}

TEST(Makespan, RingMatesStartAndEndTogether) {
  // Wave 0: slot 0 holds sample 0 (20 tokens). Wave 1: sample 1 (16 tokens) on slots 0 and 1, and sample 2
  // (5 tokens) beside it on slot 1. Slot 2 runs sample 3 (2 tokens) in wave 1.
  Plan plan;
  plan.waves.push_back({{{{0, 0, 20}}, {}, {}}, {}});
  plan.waves.push_back({{{{1, 0, 8}}, {{1, 8, 16}, {2, 0, 5}}, {{3, 0, 2}}}, {}});
  list_rings(plan);
  const int64_t first = 1000 + 700, shard = 100 + 80 + 64 + (56 + 50) + 16, second = 100 + 50 + 25;
  const Makespan makespan = makespan_of(plan, round_cost());
  EXPECT_EQ(makespan.busy_ns,
            (std::vector<int64_t>{first + 1000 + shard, 1000 + shard + second, 1000 + 100 + 20 + 4}));
  EXPECT_EQ(makespan.total_ns, first + 1000 + shard + second + 5);
  EXPECT_NEAR(makespan.max_over_mean,
              3.0 * double(first + 1000 + shard) / double(first + 2000 + 2 * shard + second + 1124), 1e-12);
  EXPECT_EQ(makespan_of(Plan{}, round_cost()).total_ns, 0);
}

TEST(Makespan, UntiedMatesEndAloneAndWavesEndAsOne) {
  // Slot 0: sample 0, then its half of sample 1; slot 1: the other half and sample 2; slot 2: samples 3, 4.
  Plan plan;
  plan.waves.push_back({{{{0, 0, 20}}, {}, {{3, 0, 2}}}, {}});
  plan.waves.push_back({{{{1, 0, 8}}, {{1, 8, 16}, {2, 0, 5}}, {{4, 0, 3}}}, {}});
  list_rings(plan);
  CostModel cost = round_cost();
  cost.mates_end_together = false;
  const int64_t first = 1000 + 700, shard = 100 + 80 + 64 + (56 + 50) + 16, second = 100 + 50 + 25;
  EXPECT_EQ(makespan_of(plan, cost).total_ns, first + 1000 + shard + second + 5);
  EXPECT_EQ(makespan_of(plan, cost, Execution::kWaves).total_ns, first + 1000 + shard + second + 5);
  // One more sample on slot 0: untied it starts after the shard, tied after the mate's work too.
  plan.waves.push_back({{{{5, 0, 20}}, {}, {}}, {}});
  EXPECT_EQ(makespan_of(plan, cost).total_ns, first + 1000 + shard + first + 5);
  EXPECT_EQ(makespan_of(plan, round_cost()).total_ns, first + 1000 + shard + second + first + 5);
  // Slot 2's long last sample beside waits for the others in waves only.
  plan.waves[1].slots[2] = {{4, 0, 3}, {6, 0, 60}};
  const int64_t beside = 1000 + 139 + 4300;
  EXPECT_EQ(makespan_of(plan, cost).total_ns, 1124 + beside + 5);
  EXPECT_EQ(makespan_of(plan, cost, Execution::kWaves).total_ns, first + beside + first + 5);
}

TEST(Makespan, RangesOfOneSampleOnOneSlotAttendToEachOther) {
  Plan plan;
  plan.waves.push_back({{{{0, 0, 3}, {0, 3, 10}}}, {}});
  list_rings(plan);
  EXPECT_EQ(makespan_of(plan, round_cost()).total_ns, 1000 + 2 * 100 + 100 + 100 + 5);
}

}  // namespace
}  // namespace zoetrope
