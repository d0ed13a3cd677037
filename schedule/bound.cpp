// Lower bound on the makespan of any plan.
#include "schedule/bound.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "schedule/waves.h"

namespace zoetrope {

// Note [Dual bound]
// A ring shard of k tokens of a sample of S tokens costs at least
//     h(k, c) = segment + linear k + exchange (S - k)
//               + max(quadratic k S, quadratic k k + transfer (S - k) + latency (c - 1)),
// c >= 2 the ring's size: the sum of max(attention, transfer) over remote blocks is at least the larger sum.
// Take any plan that ends at time D (without the all-reduce).
//  1. Every rank with tokens runs at least one wave, so each shard of a ring of c has h(k, c) <= D - wave. h
//     is convex in k (a maximum of convex functions), so the feasible k are an interval; u(c) is its end, at
//     most the token cap and S - 1, and never grows with c. A sample that can't be whole (cap, time) is on a
//     ring with c u(c) >= S. The least such c is found from below: any ring of at least c ranks has shards
//     of at most u(c), so at least S / u(c) ranks.
//  2. For a given c, even shards cost least in total since h is convex (Jensen):
//     W(c) = c segment + linear S + exchange S (c - 1)
//            + max(quadratic S S, quadratic S S / c + transfer S (c - 1) + latency c (c - 1)).
//     W never falls with c: the terms before the maximum don't, its first term is constant, and from the c on
//     where the second is the larger one (transfer S + latency c > quadratic S S / c) its derivative is
//     positive. So the least work of the sample is W at the smallest c. Whole samples cost whole(S).
//  3. Ranks run at least ceil(tokens / cap) waves together, and ceil(segments / segment cap); each costs the
//     wave overhead. And a rank without a wave would have the time for an empty one (D >= wave), so that one
//     per rank may be counted in any case.
//  4. The sum of all this is at most ranks x D. The bound is the least D that satisfies 1-4; bisection keeps
//     its infeasible end. Shard times in plans round up and the terms here round down.

SampleBound bound_of_sample(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time) {
  if (tokens <= cluster.tokens_per_slot && cost.whole(tokens) <= time) return {1, cost.whole(tokens)};
  int64_t cp = 2;
  while (true) {
    const int64_t most = std::min(cluster.tokens_per_slot, tokens - 1);
    const int64_t shard = largest_shard(cost, tokens, most, time, cp);
    if (shard < 1) return {};
    const int64_t least = std::max(cp, (tokens + shard - 1) / shard);
    if (least > cluster.num_slots) return {};
    if (least == cp) break;
    cp = least;
    if (cost.latency == 0) break;  // shards don't shrink with the ring
  }
  const int64_t square = FixedCost::scale_down(cost.quadratic, tokens * tokens);
  const int64_t exposed = FixedCost::scale_down(cost.quadratic, tokens * tokens / cp) +
                          FixedCost::scale_down(cost.transfer, tokens * (cp - 1)) +
                          cost.latency * cp * (cp - 1);
  const int64_t handling = FixedCost::scale_down(cost.exchange, tokens * (cp - 1));
  return {cp, cp * cost.segment + FixedCost::scale_down(cost.linear, tokens) + handling +
                  std::max(square, exposed)};
}

int64_t largest_shard(const FixedCost& cost, int64_t tokens, int64_t most, int64_t time, int64_t cp) {
  if (most < 1) return 0;
  const int64_t latency = cost.latency * (cp - 1);
  const auto least_ns = [&](int64_t k) {
    const int64_t hidden = FixedCost::scale_down(cost.quadratic, k * tokens);
    const int64_t exposed = FixedCost::scale_down(cost.quadratic, k * k) +
                            FixedCost::scale_down(cost.transfer, tokens - k) + latency;
    return cost.segment + FixedCost::scale_down(cost.linear, k) +
           FixedCost::scale_down(cost.exchange, tokens - k) + std::max(hidden, exposed);
  };
  if (least_ns(most) <= time) return most;
  // Upper roots of both parts in floating point, then the exact end of the interval by steps both ways: the
  // result does not depend on the last bits of the roots.
  const double q = double(cost.quadratic) * 0x1p-32, l = double(cost.linear) * 0x1p-32,
               t = double(cost.transfer) * 0x1p-32, e = double(cost.exchange) * 0x1p-32,
               left = double(time - cost.segment) - e * double(tokens);
  const double per_token = l - e + q * double(tokens);
  const double by_compute =
      per_token > 0 ? left / per_token : double(most);  // else it falls with k: no upper end
  const double constant = t * double(tokens) + double(latency) - left;
  const double slope = l - e - t, root = std::max(0.0, slope * slope - 4 * q * constant);
  double by_link = double(most);
  if (q > 0) by_link = (-slope + std::sqrt(root)) / (2 * q);
  else if (slope > 0) by_link = -constant / slope;
  int64_t k = int64_t(std::clamp(std::min(by_compute, by_link) + 2, 0.0, double(most)));
  constexpr int64_t kRounding = 4;  // ns by which a sum of terms, each rounded, can err
  while (k > 0 && least_ns(k) > time) {
    if (least_ns(k - 1) > least_ns(k) + kRounding) return 0;  // below the lowest point: there is no interval
    --k;
  }
  while (k > 0 && k < most && least_ns(k + 1) <= time) ++k;
  return k;
}

int64_t lower_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                         const Cluster& cluster) {
  int64_t total_tokens = 0, sum_whole = 0;
  for (int64_t tokens : sorted_lengths) total_tokens += tokens, sum_whole += cost.whole(tokens);
  std::vector<int64_t> work_after(sorted_lengths.size() + 1, 0);  // whole samples from index i on
  for (size_t i = sorted_lengths.size(); i-- > 0;)
    work_after[i] = work_after[i + 1] + cost.whole(sorted_lengths[i]);
  const auto feasible = [&](int64_t time) {
    if (time < cost.wave) return false;
    int64_t work = 0, segments = int64_t(sorted_lengths.size());
    size_t i = 0;
    for (; i < sorted_lengths.size(); ++i) {
      const SampleBound sample = bound_of_sample(cost, cluster, sorted_lengths[i], time - cost.wave);
      if (sample.cp == 0) return false;
      if (sample.cp == 1) break;  // descending: all the rest is whole too
      work += sample.work;
      segments += sample.cp - 1;
    }
    work += work_after[i];
    int64_t waves =
        std::max((total_tokens + cluster.tokens_per_slot - 1) / cluster.tokens_per_slot, cluster.num_slots);
    if (cluster.segments_per_slot > 0)
      waves = std::max(waves, (segments + cluster.segments_per_slot - 1) / cluster.segments_per_slot);
    return static_cast<__int128>(work) + static_cast<__int128>(waves) * cost.wave <=
           static_cast<__int128>(cluster.num_slots) * time;
  };
  if (sorted_lengths.empty()) return 0;
  int64_t infeasible = sum_whole / cluster.num_slots, reachable = std::max<int64_t>(1, infeasible);
  if (infeasible > 0) --infeasible;
  while (!feasible(reachable)) {
    infeasible = reachable;
    ZT_CHECK(reachable < (int64_t(1) << 61), "lower bound: no time is feasible");
    reachable *= 2;
  }
  while (reachable - infeasible > 1) {
    const int64_t middle = infeasible + (reachable - infeasible) / 2;
    (feasible(middle) ? reachable : infeasible) = middle;
  }
  return infeasible;
}

int64_t lower_bound(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                    const Cluster& cluster) {
  const FixedCost cost(cost_model);
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (lengths.empty()) return 0;
  int64_t bound = lower_bound_time(sorted, cost, cluster);
  if (cluster.execution == Execution::kWaves) bound = std::max(bound, wave_bound_time(sorted, cost, cluster));
  return bound + cost.allreduce;
}

int64_t ideal_ns(const std::vector<int64_t>& lengths, const CostModel& cost_model, int64_t num_slots) {
  const FixedCost cost(cost_model);
  __int128 work = 0;
  for (int64_t tokens : lengths)
    work +=
        FixedCost::scale_down(cost.linear, tokens) + FixedCost::scale_down(cost.quadratic, tokens * tokens);
  return int64_t(work / num_slots);
}

}  // namespace zoetrope
