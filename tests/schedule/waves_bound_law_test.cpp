// The lower bound for waves in lock-step against the best of all plans, by brute force on small batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>

#include "schedule/bound.h"
#include "schedule/planner.h"
#include "schedule/waves.h"
#include "tests/support/brute_force.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

struct Ratios {
  double elastic = 1, bound = 1;
  int64_t wave_bound_larger = 0, longest_wave_larger = 0;
};

std::string described(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster) {
  std::ostringstream text;
  for (int64_t tokens : lengths) text << tokens << " ";
  text << "on " << cluster.num_slots << " slots of " << cluster.tokens_per_slot << " tokens, "
       << cluster.segments_per_slot << " segments; linear " << cost.linear_ns << " quadratic "
       << cost.quadratic_ns << " transfer " << cost.transfer_ns << " / " << cost.transfer_between_ns
       << " latency " << cost.latency_ns << " / " << cost.latency_between_ns << " exchange "
       << cost.exchange_ns << " heads " << cost.num_heads << " all-to-all " << cost.all_to_all_ns << " short "
       << cost.short_block_tokens << " segment " << cost.sample_overhead_ns << " wave "
       << cost.wave_overhead_ns << " node " << cost.ranks_per_node;
  return text.str();
}

/// Checks one batch; the largest ratios go to `worst`.
void check_batch_of(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                    Ratios& worst) {
  const int64_t best = least_makespan(lengths, cost, cluster), bound = lower_bound(lengths, cost, cluster);
  const int64_t elastic = makespan_of(plan_elastic(lengths, cost, cluster), cost, Execution::kWaves).total_ns;
  ASSERT_LE(bound, best) << described(lengths, cost, cluster);
  ASSERT_GE(elastic, best);
  worst.elastic = std::max(worst.elastic, double(elastic) / double(best));
  worst.bound = std::max(worst.bound, double(best) / double(bound));
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const FixedCost fixed(cost);
  const int64_t dual = lower_bound_time(sorted, fixed, cluster),
                wave_bound = wave_bound_time(sorted, fixed, cluster);
  worst.wave_bound_larger += wave_bound > dual;
  worst.longest_wave_larger += bound - fixed.allreduce > std::max(dual, wave_bound);
  // Nor does what the longest wave alone refutes, from whatever time the search begins.
  for (int64_t part : {64, 512, 4096})
    ASSERT_LE(longest_wave_bound_time(sorted, fixed, cluster, (best - fixed.allreduce) / part * (part - 1)),
              best - fixed.allreduce)
        << described(lengths, cost, cluster);
}

TEST(WaveBound, NeverExceedsTheBestOfAllPlans) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  Ratios worst;
  constexpr int kRuns = rounds(3000);
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    const int64_t num_slots = pick(1, 4), num_samples = num_slots == 4   ? 1
                                                        : num_slots == 3 ? pick(1, 2)
                                                                         : pick(1, 3);
    const Cluster cluster{num_slots, pick(1, 12), pick(0, 3) == 0 ? pick(1, 2) : 0, Execution::kWaves};
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < num_samples; ++i)
      lengths.push_back(
          pick(1, std::min<int64_t>(num_slots * cluster.tokens_per_slot, num_slots == 2 ? 9 : 7)));
    CostModel cost = random_cost(random);
    cost.quadratic_ns *= double(pick(1, 1000));  // short samples: let attention matter
    check_batch_of(lengths, cost, cluster, worst);
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%d batches: elastic at most %.3f x the best plan, the best plan at most %.3f x the bound; the "
      "wave bound is the larger one in %lld, that from the longest wave in %lld\n",
      kRuns, worst.elastic, worst.bound, static_cast<long long>(worst.wave_bound_larger),
      static_cast<long long>(worst.longest_wave_larger));
  EXPECT_GT(worst.wave_bound_larger, 0);
  EXPECT_GT(worst.longest_wave_larger, 0);
}

// On two slots the giant's least work, rounded down, is some 2^-32 ns below its ideal.
TEST(WaveBound, RoundingHidesNoRingSize) {
  CostModel cost;
  cost.linear_ns = 18432;
  cost.quadratic_ns = 286.75;
  cost.exchange_ns = 3000;
  cost.num_heads = 2;
  cost.ranks_per_node = 64;
  cost.transfer_ns = cost.latency_ns = cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  const Cluster cluster{3, 3, 2, Execution::kWaves};
  EXPECT_LE(lower_bound({6, 3}, cost, cluster), least_makespan({6, 3}, cost, cluster));
}

TEST(WaveBound, AGiantThatLeavesNoTokensForTheOthers) {
  CostModel cost;
  cost.linear_ns = 10;
  cost.quadratic_ns = 1;
  cost.transfer_ns = cost.latency_ns = cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  const Cluster cluster{4, 100, 0, Execution::kWaves};
  // Beside the giant's two full slots, 100 x (200 + 10) ns each, two more hold 100 tokens of 10 + 10 ns: they
  // idle, and whatever wave these tokens are in, the pool's ideal work is not reached. On three and four
  // slots the giant leaves less idle: its four shards of 50 tokens take 50 x (200 + 10) ns and leave no slot
  // over.
  std::vector<int64_t> lengths(40, 10);
  lengths.push_back(200);
  cost.transfer_ns = 100;  // blocks below 100 tokens wait for the link: three and four slots waste more
  const int64_t ideal = (40 * 10 * (10 + 10) + 200 * (200 + 10)) / 4;
  // c = 2: no ring waste, 2 x 21000 idle less 200 x 20 of others. c = 3: shards of 200 / 3 tokens take
  // (40000 / 3 + 200 x 2 x 100) / 3 + 2000 / 3 each. c = 4: (10000 + 60000 + 2000) / 4.
  const double waste_2 = 2 * 21000 - 200 * 20, per_3 = (40000 / 3. + 40000 + 2000) / 3,
               waste_3 = 3 * per_3 - 42000 + per_3 - 100 * 20, waste_4 = 72000 - 42000;
  const double waste = std::min({waste_2, waste_3, waste_4});
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  EXPECT_EQ(wave_bound_time(lengths, FixedCost(cost), cluster), int64_t(ideal + waste / 4));
  EXPECT_GE(lower_bound(lengths, cost, cluster), int64_t(ideal + waste / 4));
}

}  // namespace
}  // namespace zoetrope
