// The lower bound against the best of all plans, by brute force on small batches.
#include "schedule/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/planner.h"
#include "tests/support/brute_force.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

TEST(LowerBound, NeverExceedsTheBestOfAllPlans) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  double worst_elastic = 1, worst_bound = 1;
  for (int run = 0; run < rounds(3000); ++run) {
    const int64_t num_slots = pick(1, 4), num_samples = num_slots == 4   ? 1
                                                        : num_slots == 3 ? pick(1, 2)
                                                                         : pick(1, 3);
    Cluster cluster{num_slots, pick(1, 12), pick(0, 3) == 0 ? pick(1, 2) : 0};
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < num_samples; ++i)
      lengths.push_back(
          pick(1, std::min<int64_t>(num_slots * cluster.tokens_per_slot, num_slots == 2 ? 9 : 7)));
    CostModel cost = random_cost(random);
    cost.quadratic_ns *= double(pick(1, 1000));  // short samples: let attention matter
    const int64_t best = least_makespan(lengths, cost, cluster), bound = lower_bound(lengths, cost, cluster);
    const int64_t elastic = makespan_of(plan_elastic(lengths, cost, cluster), cost).total_ns;
    ASSERT_LE(bound, best) << "seed " << seed << " run " << run;
    ASSERT_GE(elastic, best) << "seed " << seed << " run " << run;
    worst_elastic = std::max(worst_elastic, double(elastic) / double(best));
    worst_bound = std::max(worst_bound, double(best) / double(bound));
  }
  std::printf("%d batches: elastic at most %.3f x the best plan, the best plan at most %.3f x the bound\n",
              rounds(3000), worst_elastic, worst_bound);
}

TEST(LowerBound, GiantsInTurnNeverExceedTheBestOfAllPlans) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  int num_larger = 0;
  for (int run = 0; run < rounds(2000); ++run) {
    const int64_t num_slots = pick(2, 3), cap = pick(2, num_slots == 2 ? 4 : 3), all = num_slots * cap;
    const Cluster cluster{num_slots, cap, 0};
    std::vector<int64_t> lengths{pick(all / 2 + 1, all), pick(all / 2, all)};
    if (num_slots == 2) lengths.push_back(pick(1, all));
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    CostModel cost = random_cost(random);
    cost.quadratic_ns *= double(pick(1, 1000));
    cost.mates_end_together = pick(0, 1) == 0;
    const FixedCost fixed(cost);
    const int64_t giants = giants_bound_time(lengths, fixed, cluster, cost.mates_end_together);
    ASSERT_LE(giants + fixed.allreduce, least_makespan(lengths, cost, cluster))
        << "seed " << seed << " run " << run;
    num_larger += giants > lower_bound_time(lengths, fixed, cluster);
  }
  std::printf("the giants' bound is the larger one in %d of %d batches\n", num_larger, rounds(2000));
  EXPECT_GT(num_larger, 0);
}

TEST(LowerBound, IsTightWhereEverythingFitsEvenly) {
  CostModel cost;
  cost.linear_ns = 10;
  cost.quadratic_ns = 1;
  cost.transfer_ns = cost.latency_ns = cost.sample_overhead_ns = 0;
  cost.wave_overhead_ns = 100;
  cost.allreduce_ns = 7;
  // Two samples on two ranks: one each, 10 x 30 + 900 + 100; the bound stops one below the feasible time.
  EXPECT_EQ(lower_bound({30, 30}, cost, {2, 30, 0}), 10 * 30 + 900 + 100 - 1 + 7);
  // One sample that only fits two ranks: half of the work each.
  EXPECT_EQ(lower_bound({60}, cost, {2, 30, 0}), (10 * 60 + 3600) / 2 + 100 - 1 + 7);
}

TEST(LowerBound, LargestShardIsTheEndOfTheFeasibleInterval) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 200; ++run) {
    const FixedCost cost(random_cost(random));
    const int64_t tokens = 2 + int64_t(random() % 3000), most = 1 + int64_t(random() % uint64_t(tokens - 1));
    const int64_t time = int64_t(random() % uint64_t(1 + 2 * cost.even_ring(tokens, 2)));
    const RingClass kind{cost.transfer_between, cost.latency_between, 2, 64, random() % 2 == 0};
    const int64_t cp = 2 + int64_t(random() % 20);
    int64_t expected = 0;
    for (int64_t k = 1; k <= most; ++k) {
      const int64_t hidden = FixedCost::scale_down(cost.quadratic, k * (tokens + cp * cost.short_block));
      const int64_t sending =
          FixedCost::scale_down(kind.transfer, tokens - k) + kind.latency * (kind.gathers ? 1 : cp - 1);
      const int64_t own = FixedCost::scale_down(cost.quadratic, k * (k + cost.short_block));
      const int64_t attention = kind.gathers ? hidden + sending : std::max(hidden, own + sending);
      const int64_t handling = FixedCost::scale_down(cost.exchange, tokens - k);
      if (cost.segment + FixedCost::scale_down(cost.linear, k) + handling + attention <= time) expected = k;
    }
    ASSERT_EQ(largest_shard(cost, tokens, most, time, kind, cp), expected)
        << "seed " << seed << " run " << run;
  }
}

}  // namespace
}  // namespace zoetrope
