// The parts of the elastic planner. Each makes candidate plans of one kind; plan_elastic takes the fastest.
//   stack: even rings one after another on the ranks that are free together, whole samples fill the rest
//   pour:  few waves in which samples are poured over ranks to one common level, uneven shards where needed
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/cost.h"
#include "schedule/fixed_cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// What all parts work on: samples by descending length, ties by number.
struct ElasticBatch {
  ElasticBatch(const std::vector<int64_t>& lengths, const CostModel& cost_model,
               const Cluster& cluster_value);
  int64_t num_samples() const { return int64_t(sample.size()); }
  /// Segments that a slot may hold in a wave.
  int64_t segment_cap() const {
    return cluster.segments_per_slot > 0 ? cluster.segments_per_slot : INT64_MAX;
  }

  /// True when a ring's price depends on where it lies, or on how its size splits the heads.
  bool has_places() const { return cost.has_nodes(cluster.num_slots) || cost.num_heads > 0; }

  /// A plan this near the bound is good enough: the larger the batch, the less time there is for each sample.
  int64_t tolerance_ns() const { return bound_ns / (num_samples() <= 8192 ? 1024 : 256); }

  std::vector<int64_t> sample, tokens, whole_ns;  ///< by rank in the descending order
  int64_t total_tokens = 0, total_ns = 0;
  CostModel cost_model;
  FixedCost cost;
  Cluster cluster;
  int64_t bound_ns = 0;  ///< dual bound, without the all-reduce
};

/// Keeps the plan with the least makespan; the first of equals.
struct BestPlan {
  explicit BestPlan(Execution how) : execution(how) {}
  Execution execution;
  std::optional<Plan> plan;
  int64_t total_ns = INT64_MAX;
  /// Takes the candidate if it is faster.
  void offer(Plan candidate, const CostModel& cost);
};

/// How to pour.
struct PourOptions {
  int64_t num_waves = 1;
  int64_t held_back = 0;  ///< so many of a wave's longest whole samples are split last, to level the ranks
  bool proportional = false;  ///< shards in proportion to the room of each rank, else fill rank after rank
};
/// Nothing when the samples don't fit so many waves.
std::optional<Plan> plan_poured(const ElasticBatch& batch, const PourOptions& options);

}  // namespace zoetrope
