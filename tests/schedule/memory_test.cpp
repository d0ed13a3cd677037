// Bytes of plans: by hand, never above the caps' figure, and what the check says of a planted violation.
#include "schedule/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/check.h"
#include "schedule/pipeline.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

/// Waves of one slot that holds whole samples of these lengths.
Plan plan_of(const std::vector<std::vector<int64_t>>& waves) {
  Plan plan;
  int64_t sample = 0;
  for (const std::vector<int64_t>& lengths : waves) {
    plan.waves.push_back({{{}}, {}});
    for (const int64_t tokens : lengths) plan.waves.back().slots[0].push_back({sample++, 0, tokens});
  }
  return plan;
}

TEST(PlanMemory, EqualsTheFiguresByHand) {
  const Plan plan = plan_of({{5, 3}, {9}, {1, 1, 1}});
  // 100 + 2 x 20 (cap) + the largest of 10 x 8 + 7 x 2, 10 x 9 + 7, 10 x 3 + 7 x 3.
  EXPECT_EQ(plan_peak_bytes({100, 10, 7, 2}, plan, {1, 20}), std::vector<int64_t>{140 + 97});
  // Two in flight: held 3 per token and 1 per segment of waves 0 and 1, on top the larger of what runs.
  EXPECT_EQ(plan_peak_bytes({100, 10, 7, 2, 3, 1, 2}, plan, {1, 20}),
            std::vector<int64_t>{140 + 3 * 17 + 3 + 97});
  EXPECT_EQ(plan_peak_bytes({100, 10, 7, 2}, Plan{}, {2, 20}), (std::vector<int64_t>{140, 140}));
}

TEST(PlanMemory, NeverExceedsTheFigureOfTheCaps) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(200); ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    const RandomProblem problem = random_problem(random);
    const CostModel cost = random_cost(random);
    const Cluster cluster{problem.num_slots, problem.tokens_per_slot, 5};
    const auto figure = [&] { return int64_t(random() % 1000); };
    MemoryModel memory{figure(), figure(), figure(), figure()};
    const int64_t whole = peak_bytes(memory, cluster);
    EXPECT_NO_THROW(check_plan_memory(
        plan_peak_bytes(memory, plan_elastic(problem.lengths, cost, cluster), cluster), whole));
    const int64_t stages = 1 + int64_t(random() % 6);
    memory.per_held_token = figure();
    memory.per_held_segment = figure();
    memory.in_flight = stages;
    const Plan plan = plan_pipeline(problem.lengths, cost, cluster, {stages});
    const std::vector<int64_t> peaks = plan_peak_bytes(memory, plan, cluster);
    EXPECT_NO_THROW(check_plan_memory(peaks, peak_bytes(memory, cluster)));
  }
}

// The windows of consecutive waves are what the execution of the pipeline holds.
TEST(PlanMemory, HoldsWhatThePipelineHasInFlight) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(100); ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    const RandomProblem problem = random_problem(random);
    if (problem.lengths.empty()) continue;
    const CostModel cost = random_cost(random);
    const Cluster cluster{problem.num_slots, problem.tokens_per_slot};
    const int64_t stages = 1 + int64_t(random() % 6);
    const Plan plan = plan_pipeline(problem.lengths, cost, cluster, {stages});
    const PipelineRun done = simulate_pipeline(plan, cost, {stages});
    for (int64_t stage = 0; stage < stages; ++stage) {
      MemoryModel tokens;
      tokens.per_held_token = 1;
      tokens.in_flight = stages - stage;
      const std::vector<int64_t> held = plan_peak_bytes(tokens, plan, cluster);
      for (int64_t slot = 0; slot < cluster.num_slots; ++slot)
        EXPECT_EQ(held[size_t(slot)], done.tokens_in_flight[size_t(slot * stages + stage)]);
    }
  }
}

TEST(PlanMemory, AViolationNamesRankAndBytes) {
  EXPECT_NO_THROW(check_plan_memory({10, 30, 20}, 30));
  try {
    check_plan_memory({10, 31, 20}, 30);
    FAIL() << "31 of 30 bytes";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 would use 31 bytes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("may use 30"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace zoetrope
