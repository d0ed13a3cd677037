// Lower bound from samples of which no two fit the ranks at once.
#include <algorithm>

#include "schedule/bound.h"

namespace zoetrope {
namespace {

// Note [Giants in turn]
// Let each two of some samples together hold more tokens than all ranks' caps. Then no wave holds two of
// them, and each two share a rank, which runs them one after the other. The later one begins on all its
// ranks when that rank is done with the earlier one. So by induction in order of their waves the last one
// ends no sooner than the sum over all of them of a wave's overhead and
//  - where ring mates end a wave together, the time of the slowest member: at least W(c) / c, the mean of
//    the least work (Note [Least shares]), for the c at which that is least;
//  - else the least that any member takes, with a shard of any length; only for rings, whose member takes
//    h(k, c) of the same note. k is looked for by intervals: each of the terms of h rises or falls with k.

int64_t least_ring_ns(const FixedCost& cost, const Cluster& cluster, int64_t tokens) {
  const int64_t fewest = (tokens + cluster.tokens_per_slot - 1) / cluster.tokens_per_slot;
  int64_t least = fewest <= 1 ? cost.whole(tokens) : INT64_MAX;
  for (int64_t cp = std::max<int64_t>(2, fewest); cp <= std::min(cluster.num_slots, tokens); ++cp)
    least = std::min(least, least_split_work(cost, tokens, cp, cluster.num_slots) / cp);
  return least;
}

int64_t least_member_ns(const FixedCost& cost, const Cluster& cluster, int64_t tokens) {
  constexpr int64_t kIntervals = 64;
  const int64_t cap = std::min(cluster.tokens_per_slot, tokens - 1);
  const int64_t cp = std::max<int64_t>(2, (tokens + cluster.tokens_per_slot - 1) / cluster.tokens_per_slot);
  const int64_t step = std::max<int64_t>(1, cap / kIntervals);
  int64_t least = tokens <= cluster.tokens_per_slot ? cost.whole(tokens) : INT64_MAX;
  for (int64_t low = 1; low <= cap; low += step) {
    const int64_t others = tokens - std::min(cap, low + step - 1);
    const int64_t hidden = FixedCost::scale_down(cost.quadratic, low * (tokens + cost.short_block * cp));
    const int64_t exposed = FixedCost::scale_down(cost.quadratic, low * (low + cost.short_block)) +
                            FixedCost::scale_down(cost.transfer, others) + cost.latency * (cp - 1);
    least = std::min(least, cost.segment + FixedCost::scale_down(cost.linear, low) +
                                FixedCost::scale_down(cost.exchange, others) + std::max(hidden, exposed));
  }
  return least;
}

}  // namespace

int64_t giants_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                          const Cluster& cluster, bool mates_end_together) {
  const int64_t all = cluster.num_slots * cluster.tokens_per_slot;
  size_t number = 1;  // of the longest ones, any two of which don't fit
  while (number < sorted_lengths.size() && sorted_lengths[number - 1] + sorted_lengths[number] > all)
    ++number;
  if (number < 2 || (!mates_end_together && cost.num_heads > 0)) return 0;
  int64_t sum = 0;
  for (size_t i = 0; i < number; ++i)
    sum += cost.wave + (mates_end_together ? least_ring_ns(cost, cluster, sorted_lengths[i])
                                           : least_member_ns(cost, cluster, sorted_lengths[i]));
  return sum > 0 ? sum - 1 : 0;
}

}  // namespace zoetrope
