// Lays samples into waves of wanted sizes: the second half of planning for pipelines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/cost.h"
#include "schedule/fixed_cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Samples by descending length, ties by number.
struct PipelineBatch {
  PipelineBatch(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                const Cluster& cluster_value);

  std::vector<int64_t> sample, tokens;
  CostModel cost_model;
  FixedCost cost;
  Cluster cluster;
};

/// How to lay samples.
struct PackOptions {
  bool by_density = false;  ///< next sample to the wave with most time left per token left, else most time
  int64_t waste = 64;       ///< 1/64 of what a sample needs that its ring may take more
  int64_t spread = 1;       ///< a split sample lies on so many times the slots that it needs
};

/// A plan whose waves take about `wave_ns` on each slot, and more waves behind them where caps ask for it;
/// waves without samples are left out. `busy_ns` becomes the time of all slots without the waves' overhead.
Plan pack_waves(const PipelineBatch& batch, const std::vector<int64_t>& wave_ns, const PackOptions& options,
                int64_t& busy_ns);

}  // namespace zoetrope
