#include "schedule/cost.h"

#include <gtest/gtest.h>

#include <filesystem>

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
  const std::string path = testing::TempDir() + "/bad.toml";
  for (const char* text :
       {"[cost]\nlinear-ns = -1\n", "[cost]\nlinear-ns = 0\nquadratic-ns = 0\n",
        "[cost]\nlinear-ns = \"fast\"\n", "[cost]\nspeed = 1\n", "[cost]\nlatency-ns = inf\n"}) {
    write_file_atomically(path, text);
    EXPECT_THROW(read_cost(path), UsageError) << text;
  }
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

TEST(Makespan, RangesOfOneSampleOnOneSlotAttendToEachOther) {
  Plan plan;
  plan.waves.push_back({{{{0, 0, 3}, {0, 3, 10}}}, {}});
  list_rings(plan);
  EXPECT_EQ(makespan_of(plan, round_cost()).total_ns, 1000 + 2 * 100 + 100 + 100 + 5);
}

}  // namespace
}  // namespace zoetrope
