// Law 2 for every planner: each sample exactly once, caps hold, no circular wait; and what the elastic
// planner promises: never slower than the best balanced static plan, never faster than the bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "core/check.h"
#include "schedule/planner.h"
#include "schedule/static.h"
#include "tests/support/length_lists.h"
#include "tests/support/plan_check.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

TEST(PlanLaws, HoldForEveryPlannerOnRandomBatches) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(600); ++run) {
    const RandomProblem problem = random_problem(random);
    CostModel cost = random_cost(random);
    cost.mates_end_together = random() % 2 == 0;
    const Cluster cluster{problem.num_slots, problem.tokens_per_slot, problem.segments_per_slot};
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    std::vector<int64_t> sorted = problem.lengths;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    int64_t best_static = INT64_MAX;
    for (int64_t cp : feasible_cp_sizes(problem.lengths, cluster))
      for (const char* planner : {"static", "static-balanced"}) {
        const Plan plan = make_plan({planner, cp}, problem.lengths, cost, cluster);
        ASSERT_NO_THROW(check_plan(plan, problem.lengths, cluster, {32, 2}))
            << planner << " " << cp << " " << plan_to_json(plan);
        if (planner != std::string("static-balanced")) continue;
        const int64_t total = makespan_of(plan, cost).total_ns;
        best_static = std::min(best_static, total);
        ASSERT_LE(sorted.empty() ? 0 : least_static_balanced_ns(sorted, FixedCost(cost), cluster, cp), total);
      }
    const Plan plan = make_plan({"elastic", 0}, problem.lengths, cost, cluster);
    ASSERT_NO_THROW(check_plan(plan, problem.lengths, cluster, {32, 2})) << plan_to_json(plan);
    const int64_t total = makespan_of(plan, cost).total_ns;
    ASSERT_LE(total, best_static);
    ASSERT_GE(total, lower_bound(problem.lengths, cost, cluster)) << plan_to_json(plan);
  }
}

TEST(PlanLaws, HoldForElasticPlansOfPoolsOfAnySize) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(200); ++run) {
    const RandomProblem problem = random_problem(random, 200, run % 2 == 0 ? 40 : 600);
    CostModel cost = random_cost(random);
    cost.mates_end_together = random() % 2 == 0;
    const Cluster cluster{problem.num_slots, problem.tokens_per_slot, problem.segments_per_slot};
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run << ", " << problem.lengths.size()
                                    << " samples on " << problem.num_slots << " ranks");
    const Plan plan = plan_elastic(problem.lengths, cost, cluster);
    ASSERT_NO_THROW(check_plan(plan, problem.lengths, cluster, {32, 2})) << plan_to_json(plan);
    ASSERT_EQ(plan_elastic(problem.lengths, cost, cluster), plan);
    const int64_t total = makespan_of(plan, cost).total_ns;
    ASSERT_GE(total, lower_bound(problem.lengths, cost, cluster));
    const StaticChoice fixed = best_static_balanced(problem.lengths, cost, cluster, INT64_MAX);
    if (fixed.cp == 0) continue;
    ASSERT_EQ(makespan_of(fixed.plan, cost).total_ns, fixed.total_ns);
    ASSERT_LE(total, fixed.total_ns);
  }
}

TEST(PlanLaws, TheSamePlanInEveryRunAndOnEveryThread) {
  const std::vector<int64_t> lengths = read_length_list("video-mix-n128-g16");
  const CostModel cost = find_cost("h100");
  const Cluster cluster{16, 16384, 0};
  const uint64_t hash = hash_of(make_plan({}, lengths, cost, cluster));
  std::vector<uint64_t> hashes(4);
  std::vector<std::thread> threads;
  for (uint64_t& mine : hashes)
    threads.emplace_back([&] { mine = hash_of(make_plan({}, lengths, cost, cluster)); });
  for (std::thread& thread : threads) thread.join();
  for (uint64_t other : hashes) EXPECT_EQ(other, hash);
}

TEST(PlanLaws, WhatCannotFitIsAnErrorThatNamesTheSample) {
  for (const std::string& planner : planner_names()) {
    try {
      make_plan({planner, 0}, {10, 401, 20}, CostModel{}, {4, 100, 0});
      ADD_FAILURE() << planner;
    } catch (const Error& problem) {
      EXPECT_NE(std::string(problem.what()).find("sample 1 has 401 tokens"), std::string::npos)
          << problem.what();
    }
  }
  EXPECT_THROW(make_plan({"static", 3}, {10}, CostModel{}, {4, 100, 0}), Error);
  EXPECT_THROW(make_plan({"elastic", 2}, {10}, CostModel{}, {4, 100, 0}), UsageError);
  EXPECT_THROW(make_plan({"none", 0}, {10}, CostModel{}, {4, 100, 0}), UsageError);
}

}  // namespace
}  // namespace zoetrope
