// Lower bound on the makespan of any plan.
#include "schedule/bound.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/waves.h"

namespace zoetrope {

// Note [Dual bound]
// Take any plan that ends at time D (without the all-reduce).
//  1. Every rank with tokens runs at least one wave, so each of its shards ends within D - wave. A sample
//     that can't be whole (cap, time) lies on at least as many ranks as the cheapest scheme needs.
//  2. Its work is at least the least of the schemes at their least sizes (Note [Least shares] in
//     ring_bound.cpp). Whole samples cost whole(S).
//  3. Ranks run at least ceil(tokens / cap) waves together, and ceil(segments / segment cap); each costs the
//     wave overhead. And a rank without a wave would have the time for an empty one (D >= wave), so that one
//     per rank may be counted in any case.
//  4. The sum of all this is at most ranks x D. The bound is the least D that satisfies 1-4; bisection keeps
//     its infeasible end. Shard times in plans round up and the terms here round down.

SampleBound bound_of_sample(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time) {
  if (tokens <= cluster.tokens_per_slot && cost.whole(tokens) <= time) return {1, cost.whole(tokens)};
  return bound_of_split(cost, cluster, tokens, time);
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
