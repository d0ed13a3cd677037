// Plan entry + shards -> MicroBatch, reading only this rank's token ranges; and the same one step ahead on a
// thread, together with the planning of that step.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/batch.h"
#include "schedule/cost.h"
#include "schedule/order.h"
#include "schedule/planner.h"
#include "video/store/dataset.h"

namespace zoetrope {

/// One step, planned: the batch, its plan, and what the planner says of it.
struct PlannedStep {
  int64_t first_draw = 0;
  std::vector<int64_t> samples;  ///< data-set indices, in batch order
  std::vector<int64_t> lengths;  ///< tokens
  Plan plan;
  uint64_t plan_hash = 0;
  int64_t makespan_ns = 0, bound_ns = 0, total_tokens = 0;
  double plan_milliseconds = 0;
  std::vector<int64_t> cp_sizes;  ///< distinct ring sizes, ascending
};

/// Makes the micro-batch of one slot of one wave, reading only its token ranges. Ranges of one sample are
/// neighbours, samples in the order of the plan.
/// Throws: Error when the plan does not fit the data set; what reading throws.
MicroBatch load_micro_batch(const Dataset& dataset, const PlannedStep& step, int64_t wave, int64_t slot);

/// Plans and loads step t+1 in the background while step t runs.
class Prefetcher {
 public:
  struct Config {
    PlanRequest request;
    CostModel cost;
    Cluster cluster;
    int64_t batch = 8;  ///< samples per step
    int slot = 0;
  };
  /// Starts on the first step at once. `dataset` must outlive this object.
  Prefetcher(const Dataset& dataset, SampleOrder order, Config config, int64_t first_draw);
  ~Prefetcher();
  struct Loaded {
    PlannedStep step;
    std::vector<MicroBatch> waves;
  };
  /// The next step; starts the one after it. Throws: what planning or reading threw, here and in every later
  /// call.
  Loaded next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Draws and plans the step that begins at draw `first_draw`. `dataset_lengths`: tokens of every sample of
/// the data set.
PlannedStep plan_step(const std::vector<int64_t>& dataset_lengths, SampleOrder& order,
                      const Prefetcher::Config& config, int64_t first_draw);

}  // namespace zoetrope
