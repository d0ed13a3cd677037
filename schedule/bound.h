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

/// Largest shard of up to `most` tokens of a sample on a ring of `cp` that can end within `time`; 0: none.
int64_t largest_shard(const FixedCost& cost, int64_t tokens, int64_t most, int64_t time, int64_t cp = 2);

/// The bound without the all-reduce; `sorted_lengths` descending. Note [Dual bound] has the argument.
int64_t lower_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                         const Cluster& cluster);

/// Compute alone, spread evenly: the denominator of efficiency.
int64_t ideal_ns(const std::vector<int64_t>& lengths, const CostModel& cost, int64_t num_slots);

}  // namespace zoetrope
