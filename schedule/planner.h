// The planners behind one function; a file each.
#pragma once

#include <string>
#include <vector>

#include "schedule/cost.h"

namespace zoetrope {

struct PlanRequest {
  std::string planner = "elastic";  ///< one of planner_names()
  int64_t cp = 0;                   ///< size of the static planners; 0: fastest predicted feasible one
  std::string bags = {};            ///< spec of the bags planner; empty: derived from the lengths
};

/// Names that `make_plan` knows; the last is the default.
const std::vector<std::string>& planner_names();
/// True for planners that use one CP size for the whole step, which `cp` gives.
bool fixes_cp_size(const std::string& planner);

/// Plans one step. Deterministic: a pure function of its arguments, integer nanoseconds, stable ties.
/// Throws: Error naming the sample, its tokens, the cap and what to change when a sample can't fit.
Plan make_plan(const PlanRequest& request, const std::vector<int64_t>& lengths, const CostModel& cost,
               const Cluster& cluster);

/// CP size c on slots [g c, (g + 1) c): arrival order, even shards, waves by the token cap.
Plan plan_static(const std::vector<int64_t>& lengths, const Cluster& cluster, int64_t cp);
/// As above with samples sorted and placed longest-processing-time first, free-running.
Plan plan_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                          int64_t cp);
/// Power-of-two CP size per sample in greedy waves, blind to all but quadratic work.
/// Source: Megatron Core's dynamic context parallelism, from a description: Note [Greedy waves].
Plan plan_greedy_waves(const std::vector<int64_t>& lengths, const Cluster& cluster);
/// Ranks cut once into bags; every sample lies evenly on all slots of one, the least occupied.
/// `spec` such as `g1n32+g2n8`; empty: derived. Throws: Error naming a sample that no bag holds; UsageError.
/// Source: KnapFormer, arXiv:2508.06001, from a description: Note [Bags].
Plan plan_bags(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
               const std::string& spec);
/// Bag sizes of a spec, in its order. Throws: UsageError when it is none, or isn't of `num_slots` ranks.
std::vector<int64_t> read_bags(const std::string& spec, int64_t num_slots);
/// One CP size per wave, any size, chosen by the cost model: Note [One size per wave].
Plan plan_dynamic(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster);
/// Ring size, members and uneven shard lengths per sample.
Plan plan_elastic(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster);

/// Throws: Error naming the sample, its tokens and the caps when a batch can't be planned by any planner.
void check_batch(const std::vector<int64_t>& lengths, const Cluster& cluster);

/// Divisors of num_slots at which every sample fits the cap.
std::vector<int64_t> feasible_cp_sizes(const std::vector<int64_t>& lengths, const Cluster& cluster);
/// The fastest predicted of them for a planner.
int64_t fastest_cp(const std::string& planner, const std::vector<int64_t>& lengths, const CostModel& cost,
                   const Cluster& cluster);

}  // namespace zoetrope
