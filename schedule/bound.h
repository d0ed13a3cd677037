// The dual lower bound on any plan's makespan, and its parts that the elastic planner steers by.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"
#include "schedule/fixed_cost.h"

namespace zoetrope {

/// Least ring size and work of a sample in any plan whose shards end within a time; cp 0: there is none.
struct SampleBound {
  int64_t cp = 0, work = 0;
};
/// The bound of one sample whose shards end within `time` ns.
SampleBound bound_of_sample(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time);

/// The same for a sample on at least two ranks. Source: Note [Least shares] in ring_bound.cpp.
SampleBound bound_of_split(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time);

/// The least that any scheme takes of `cp` ranks together for a sample: W in the same note, over schemes that
/// the nodes of a pool of `num_slots` have room for.
int64_t least_split_work(const FixedCost& cost, int64_t tokens, int64_t cp, int64_t num_slots = INT64_MAX);

/// Rings whose members pay alike for what they send.
struct RingClass {
  int64_t transfer, latency;  ///< 2^-32 ns per token, ns
  int64_t least_cp, most_cp;
  bool gathers = false;  ///< all blocks before any attention
};
/// Largest shard of up to `most` tokens of a sample on `cp` ranks that can end within `time`; 0: none.
int64_t largest_shard(const FixedCost& cost, int64_t tokens, int64_t most, int64_t time,
                      const RingClass& kind, int64_t cp);
/// The same on a ring that lies on as few nodes as it can.
inline int64_t largest_shard(const FixedCost& cost, int64_t tokens, int64_t most, int64_t time,
                             int64_t cp = 2) {
  const bool between = cp > cost.ranks_per_node;
  return largest_shard(cost, tokens, most, time,
                       {between ? cost.transfer_between : cost.transfer,
                        between ? cost.latency_between : cost.latency, cp, cp},
                       cp);
}

/// The bound without the all-reduce; `sorted_lengths` descending. Note [Dual bound] has the argument.
int64_t lower_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                         const Cluster& cluster);

/// The same from samples of which no two fit the ranks at once, free-running; 0: there are none.
/// Source: Note [Giants in turn] in giant_bound.cpp.
int64_t giants_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                          const Cluster& cluster, bool mates_end_together);

/// A bound in lock-step that is at least `bound`, which is one: from what the longest wave leaves to others.
/// Source: Note [Longest wave] in longest_wave_bound.cpp.
int64_t longest_wave_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                                const Cluster& cluster, int64_t bound);

/// Compute alone, spread evenly: the denominator of efficiency.
int64_t ideal_ns(const std::vector<int64_t>& lengths, const CostModel& cost, int64_t num_slots);

}  // namespace zoetrope
