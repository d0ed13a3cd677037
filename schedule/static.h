// Prediction for the balanced static planner without building its plan: choosing among CP sizes stays cheap.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"
#include "schedule/fixed_cost.h"

namespace zoetrope {

/// Time of the first member of the fullest group of `plan_static_balanced`, all-reduce included (with
/// exchange schemes the least time of its mean member): the plan's makespan is at least that, and without
/// schemes equal where the largest shards are the slowest. `sorted_lengths` descending. Stops early where it
/// is sure to reach `give_up_ns`, and returns that then.
int64_t least_static_balanced_ns(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                                 const Cluster& cluster, int64_t cp, int64_t give_up_ns = INT64_MAX);

/// True when the samples' least work on rings of `cp`, any scheme and place, keeps all ranks busy for longer
/// than `give_up_ns`: no static plan of that size is as fast. `sorted_lengths` descending.
bool work_exceeds(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost, const Cluster& cluster,
                  int64_t cp, int64_t give_up_ns);

/// A static plan and its size; size 0: there is none.
struct StaticChoice {
  int64_t cp = 0, total_ns = 0;
  Plan plan;
};
/// The fastest size in arrival order, the least of equals; plans are made only for sizes that may be it.
StaticChoice best_static(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster);
/// The fastest one of any feasible size that takes less than `below_ns` and has at most `most_shards` shards.
StaticChoice best_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost,
                                  const Cluster& cluster, int64_t below_ns, int64_t most_shards = INT64_MAX);

}  // namespace zoetrope
