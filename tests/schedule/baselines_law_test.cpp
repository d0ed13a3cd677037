// Laws of the rival planners on random batches: any pool from 1 to 200 ranks, lengths from one token to all
// that fits, caps on tokens and segments, both ways of running waves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/planner.h"
#include "schedule/static.h"
#include "tests/support/plan_check.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

struct Problem {
  std::vector<int64_t> lengths;
  Cluster cluster;
};

Problem draw_problem(std::mt19937_64& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  Problem problem;
  Cluster& cluster = problem.cluster;
  cluster.num_slots = pick(0, 2) == 0 ? pick(1, 9) : pick(1, 200);
  cluster.tokens_per_slot = pick(0, 2) == 0 ? pick(1, 40) : pick(41, 5000);
  cluster.segments_per_slot = pick(0, 2) == 0 ? pick(1, 4) : 0;
  cluster.execution = pick(0, 1) == 0 ? Execution::kFree : Execution::kWaves;
  const int64_t most = cluster.num_slots * cluster.tokens_per_slot, shape = pick(0, 3);
  for (int64_t n = pick(0, 80); n > 0; --n) {
    const double uniform = double(random() >> 11) * 0x1p-53;
    int64_t tokens = 1 + int64_t(uniform * double(cluster.tokens_per_slot));
    if (shape == 1) tokens = 1 + int64_t(std::pow(uniform, 6) * double(most));
    if (shape == 2 && pick(0, 7) == 0) tokens = pick(1, most);
    if (shape == 3) tokens = pick(0, 9) == 0 ? most : pick(1, 3);
    problem.lengths.push_back(std::clamp<int64_t>(tokens, 1, most));
  }
  return problem;
}

TEST(Rivals, TheBestStaticSizeIsTheBestOfAllSizes) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(400); ++run) {
    const Problem problem = draw_problem(random);
    const CostModel cost = random_cost(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    int64_t best_cp = 0, best_ns = INT64_MAX;
    for (int64_t cp : feasible_cp_sizes(problem.lengths, problem.cluster)) {
      const Plan plan = make_plan({"static", cp}, problem.lengths, cost, problem.cluster);
      const int64_t total = makespan_of(plan, cost, problem.cluster.execution).total_ns;
      if (total < best_ns) best_cp = cp, best_ns = total;
    }
    const StaticChoice found = best_static(problem.lengths, cost, problem.cluster);
    ASSERT_EQ(found.cp, best_cp);
    ASSERT_EQ(found.total_ns, best_ns);
  }
}

TEST(Rivals, PlanWhatFitsOnAnyPool) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(400); ++run) {
    const Problem problem = draw_problem(random);
    const CostModel cost = random_cost(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    const int64_t bound = lower_bound(problem.lengths, cost, problem.cluster);
    for (const std::string& planner : planner_names()) {
      if (fixes_cp_size(planner) || planner == "elastic") continue;
      const Plan plan = make_plan({planner, 0}, problem.lengths, cost, problem.cluster);
      ASSERT_NO_THROW(check_plan(plan, problem.lengths, problem.cluster, {12, 1}))
          << planner << " " << plan_to_json(plan);
      ASSERT_LE(plan.waves.size(), problem.lengths.size()) << planner;
      ASSERT_GE(makespan_of(plan, cost, problem.cluster.execution).total_ns, bound) << planner;
      ASSERT_EQ(make_plan({planner, 0}, problem.lengths, cost, problem.cluster), plan) << planner;
    }
  }
}

}  // namespace
}  // namespace zoetrope
