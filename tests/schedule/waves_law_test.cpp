// Plans for waves in lock-step on random batches: law 2 holds, no plan is slower than the best balanced
// static one or faster than the bound, and the same batch gives the same plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

struct Problem {
  std::vector<int64_t> lengths;
  Cluster cluster;
};

/// Pools of 1 to 200 ranks, lengths from one token to all that the pool holds, caps from loose to so tight
/// that nearly every slot is full.
Problem random_pool(std::mt19937_64& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  Problem problem;
  const int64_t num_slots = pick(1, 3) == 1 ? pick(1, 200) : pick(1, 16), shape = pick(0, 3);
  const int64_t cap = pick(1, 4) == 1 ? pick(1, 60) : pick(61, 9001), pool = num_slots * cap;
  problem.cluster = {num_slots, cap, pick(0, 2) == 0 ? pick(1, 5) : 0, Execution::kWaves};
  int64_t left = pool - pool / 50;  // of the shape whose wave is 98 % full
  for (int64_t n = pick(0, 3) == 0 ? pick(0, 7) : pick(0, 300); n > 0; --n) {
    const double uniform = double(random() >> 11) * 0x1p-53;
    int64_t tokens = 1 + int64_t(uniform * double(cap));
    if (shape == 1) tokens = 1 + int64_t(std::pow(uniform, 6) * double(pool));
    if (shape == 2 && pick(0, 7) == 0) tokens = pick(1, pool);
    if (shape == 3) {
      tokens = n == 1 ? left : std::min(left, 1 + int64_t(2 * uniform * double(left) / double(n)));
      left -= tokens;
    }
    if (tokens > 0) problem.lengths.push_back(std::min(tokens, pool));
  }
  return problem;
}

TEST(WavesLaws, HoldOnRandomPools) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(48); ++run) {
    const Problem problem = random_pool(random);
    const CostModel cost = random_cost(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    Plan plan;
    ASSERT_NO_THROW(plan = make_plan({"elastic", 0}, problem.lengths, cost, problem.cluster));
    ASSERT_NO_THROW(check_plan(plan, problem.lengths, problem.cluster, {16, 1})) << plan_to_json(plan);
    ASSERT_EQ(hash_of(plan), hash_of(make_plan({"elastic", 0}, problem.lengths, cost, problem.cluster)));
    const int64_t total = makespan_of(plan, cost, Execution::kWaves).total_ns;
    ASSERT_GE(total, lower_bound(problem.lengths, cost, problem.cluster)) << plan_to_json(plan);
    if (problem.lengths.empty()) continue;
    for (int64_t cp : feasible_cp_sizes(problem.lengths, problem.cluster)) {
      const Plan fixed = make_plan({"static-balanced", cp}, problem.lengths, cost, problem.cluster);
      ASSERT_LE(total, makespan_of(fixed, cost, Execution::kWaves).total_ns) << "CP size " << cp;
    }
  }
}

TEST(WavesLaws, TheSamePlanOnEveryThread) {
  const std::vector<int64_t> lengths = read_length_list("video-mix-n128-g16");
  const CostModel cost = find_cost("h100");
  const Cluster cluster{16, 16384, 0, Execution::kWaves};
  const uint64_t hash = hash_of(make_plan({}, lengths, cost, cluster));
  std::vector<uint64_t> hashes(4);
  std::vector<std::thread> threads;
  for (uint64_t& mine : hashes)
    threads.emplace_back([&] { mine = hash_of(make_plan({}, lengths, cost, cluster)); });
  for (std::thread& thread : threads) thread.join();
  for (uint64_t other : hashes) EXPECT_EQ(other, hash);
}

}  // namespace
}  // namespace zoetrope
