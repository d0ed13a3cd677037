// Caps and peaks in bytes as the plan command gives them for models that nobody has built.
#include "tools/plan_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "tests/support/process.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;

Finished plan(const std::vector<std::string>& more) {
  std::vector<std::string> words{ZT_BINARY, "plan", "--trace", "t2", "--samples", "64", "--seed", "3"};
  words.insert(words.end(), more.begin(), more.end());
  return run_process(words);
}

nlohmann::json json_of(std::vector<std::string> more) {
  more.push_back("--json");
  const Finished finished = plan(more);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  return nlohmann::json::parse(testing_support::printed_json(finished));
}

TEST(PlanMemoryCommand, EveryRankStaysBelowTheLimit) {
  const std::vector<std::vector<std::string>> runs{
      {"--model", "wan-14b", "--shard", "all", "--ranks", "16", "--memory-per-rank", "80e9"},
      {"--model", "wan-14b", "--shard", "optimizer", "--ranks", "24", "--cost", "h200"},
      {"--model", "wan-1.3b", "--ranks", "7", "--cost", "a100", "--recompute-mode", "none"},
      {"--model", "text-7b", "--shard", "gradients", "--ranks", "8", "--recompute-mode", "selective"},
      {"--model", "wan-14b", "--ranks", "2", "--stages", "8", "--cost", "h200"},
      {"--model", "wan-1.3b", "--ranks", "4", "--tokens-per-rank", "20000"}};
  for (const std::vector<std::string>& run : runs) {
    const nlohmann::json json = json_of(run);
    const std::vector<int64_t> peaks = json["peak_bytes"];
    EXPECT_EQ(peaks.size(), size_t(json["ranks"]) * size_t(json["stages"]));
    EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), int64_t(json["memory_limit"]));
    EXPECT_GT(*std::min_element(peaks.begin(), peaks.end()), 0);
    int64_t sum = 0;
    for (const char* part : {"weights", "gradients", "optimizer", "activations", "work space", "buffers"}) {
      EXPECT_GE(int64_t(json["fullest_rank"][part]), 0) << part;
      sum += int64_t(json["fullest_rank"][part]);
    }
    EXPECT_EQ(sum, *std::max_element(peaks.begin(), peaks.end()));
  }
  EXPECT_EQ(json_of(runs[1])["memory_limit"], 126'900'000'000);  // nine tenths of 141 GB
  EXPECT_EQ(json_of(runs[0])["execution"], "waves");
}

TEST(PlanMemoryCommand, MoreRecomputeAndShardingHoldMoreTokens) {
  const auto cap = [&](const std::string& recompute, const std::string& shard) {
    return int64_t(json_of({"--model", "wan-1.3b", "--ranks", "8", "--recompute-mode", recompute, "--shard",
                            shard, "--memory-per-rank", "64000000000"})["tokens_per_rank_cap"]);
  };
  EXPECT_GT(cap("full", "none"), cap("selective", "none"));
  EXPECT_GT(cap("selective", "none"), cap("none", "none"));
  EXPECT_GT(cap("none", "optimizer"), cap("none", "none"));
  EXPECT_GT(cap("none", "all"), cap("none", "optimizer"));
}

TEST(PlanMemoryCommand, WhatIsRecomputedTakesTime) {
  const auto ideal = [&](const std::string& recompute) {
    return double(json_of({"--model", "wan-14b", "--ranks", "16", "--recompute-mode", recompute, "--shard",
                           "all", "--cost", "b200"})["ideal"]);
  };
  const double none = ideal("none"), selective = ideal("selective"), full = ideal("full");
  EXPECT_LT(none, selective);
  EXPECT_LT(selective, full);
  EXPECT_LT(full / none, 4.0 / 3 + 1e-6);  // products 4 against 3 passes, attention 4.5 against 3.5
}

TEST(PlanMemoryCommand, TheBreakdownAddsUp) {
  const Finished finished =
      plan({"--model", "wan-14b", "--shard", "all", "--ranks", "16", "--memory-per-rank", "80e9"});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  int64_t sum = 0, total = 0;
  for (const char* row :
       {"weights", "gradients", "optimizer", "activations", "work space", "buffers", "total"}) {
    const size_t at = finished.output.rfind(std::string("\n") + row + " ");
    ASSERT_NE(at, std::string::npos) << row << "\n" << finished.output;
    std::string digits;
    size_t i = finished.output.find_first_of("0123456789", at);
    for (; finished.output[i] != ' '; ++i)
      if (finished.output[i] != ',') digits += finished.output[i];
    if (row == std::string("total")) total = std::stoll(digits);
    else sum += std::stoll(digits);
  }
  EXPECT_EQ(sum, total);
}

TEST(PlanMemoryCommand, WhatCannotFitSaysWhatWould) {
  const auto fails = [](const std::vector<std::string>& words, int code, const char* text) {
    const Finished finished = plan(words);
    EXPECT_EQ(finished.exit_code, code) << finished.output;
    EXPECT_NE(finished.output.find(text), std::string::npos) << finished.output;
  };
  fails({"--model", "wan-14b", "--ranks", "8", "--cost", "h100"}, 3, "--shard");
  // Advice is of what isn't done yet: full recompute is the default of a model.
  const std::vector<std::string> no_room{"--model", "wan-14b", "--ranks", "8", "--memory-per-rank", "1000"};
  const auto advises_recompute = [&](const char* mode) {
    std::vector<std::string> words = no_room;
    words.insert(words.end(), {"--recompute-mode", mode});
    return plan(words).output.find("turn on recompute") != std::string::npos;
  };
  EXPECT_TRUE(advises_recompute("none"));
  EXPECT_TRUE(advises_recompute("selective"));
  EXPECT_FALSE(advises_recompute("full"));
  fails({"--model", "wan-1.3b", "--ranks", "8", "--tokens-per-rank", "900000"}, 3, "tokens-per-rank 900000");
  fails({"--ranks", "8", "--shard", "all"}, 2, "--model");
  fails({"--model", "wan-14b", "--ranks", "8", "--shard", "all", "--execution", "free"}, 2, "--execution");
  fails({"--model", "wan-14b", "--ranks", "8", "--shard", "all", "--stages", "2"}, 2, "--shard optimizer");
  fails({"--model", "wan-14b", "--ranks", "8", "--stages", "41"}, 2, "40 layers");
  fails({"--model", "wan-14b", "--ranks", "8", "--cost", "h100:text-7b"}, 2, "another network");
  fails({"--model", "wan-14b", "--ranks", "8", "--cost", "square"}, 2, "--memory-per-rank");
  fails({"--model", "wan-15b", "--ranks", "8"}, 2, "wan-14b");
}

// Segments take bytes too: a cap of tokens leaves room for them, and the check counts both.
TEST(CapsWithin, TokensAndSegmentsTogetherStayBelowTheLimit) {
  PlanMemory memory;
  memory.stages.resize(2);
  for (Footprint& stage : memory.stages) stage.activations = {0, 7, 1000, 0, 3, 500, 2};
  memory.stages[0].weights = 10'000;
  memory.limit = 100'000;
  const Workload workload{400, 100'000, 50, 1};
  const Cluster caps = caps_within(memory, 3, workload, 0);
  EXPECT_EQ(caps.segments_per_slot, 90'000 / 8 / 2000);
  EXPECT_EQ(caps.tokens_per_slot, (90'000 - 5 * 2000) / 13);
  const Cluster given = caps_within(memory, 3, workload, 200);
  EXPECT_EQ(given.tokens_per_slot, 200);
  EXPECT_EQ(given.segments_per_slot, (90'000 - 200 * 13) / 2000);
  EXPECT_THROW(caps_within(memory, 3, workload, 7000), Error);
  EXPECT_THROW(caps_within(memory, 3, {40'000, 100'000, 50, 1}, 0), Error);
}

TEST(CapsWithin, APlantedViolationIsNoticed) {
  PlanMemory memory;
  memory.stages.resize(1);
  memory.stages[0].activations.per_token = 10;
  memory.limit = 1000;
  Plan plan;
  plan.waves.push_back({{{{0, 0, 60}}, {{0, 60, 161}}}, {}});
  EXPECT_THROW(checked_peak_bytes(memory, plan, {2, 100}), Error);
  plan.waves[0].slots[1][0].end = 160;
  EXPECT_EQ(checked_peak_bytes(memory, plan, {2, 100}), (std::vector<int64_t>{600, 1000}));
}

}  // namespace
}  // namespace zoetrope
