// Pipeline parallelism on paper: a plan's slots are pipelines of stages, every stage of a pipeline holds the
// slot's shards, and micro-batches run one forward, one backward (1F1B).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Stages of a pipeline and how a micro-batch's time divides. A cost set's time is of forward and backward
/// together; a stage holds 1 / num_stages of the layers.
struct PipelineShape {
  int64_t num_stages = 1;
  /// Parts of the cost set's time: forward 1/3, backward 2/3. A set that counts recompute: 1 and 3.
  int64_t forward_parts = 1, backward_parts = 2;
  /// Parts that recompute adds to the backward, where the cost set doesn't count it: a forward's.
  int64_t recompute_parts = 0;

  /// Nanoseconds per stage of a micro-batch that takes `ns` in the cost set, rounded up.
  int64_t forward_ns(int64_t ns) const { return share(ns, forward_parts); }
  int64_t backward_ns(int64_t ns) const { return share(ns, backward_parts + recompute_parts); }
  /// Micro-batches whose activations a stage holds at most, of `num_waves`.
  int64_t in_flight(int64_t stage, int64_t num_waves) const {
    return num_stages - stage < num_waves ? num_stages - stage : num_waves;
  }

 private:
  int64_t share(int64_t ns, int64_t parts) const {
    const __int128 whole = static_cast<__int128>(forward_parts + backward_parts) * num_stages;
    return int64_t((static_cast<__int128>(ns) * parts + whole - 1) / whole);
  }
};

/// The shape in which forward and backward have the shares that the cost set has for samples of these
/// lengths; 1 and 2 parts where it doesn't say.
PipelineShape pipeline_shape(const CostModel& cost, int64_t num_stages, const std::vector<int64_t>& lengths);

/// Throws: Error unless stages and parts are positive (recompute: not negative) and below 2^16.
void check_shape(const PipelineShape& shape);

/// Forward or backward of a micro-batch on a stage. `before` and `input` are positions in the list of what
/// the stage ran last and of what makes this one's input; -1: nothing.
struct PipelineOp {
  bool backward = false;
  int32_t wave = 0, stage = 0;
  int32_t before = -1, input = -1;
};
/// What every pipeline runs, in an order in which nothing comes before what it waits for. Per stage: as many
/// forwards as may be in flight, then backward and forward in turns, then the backwards that remain.
std::vector<PipelineOp> one_forward_one_backward(int64_t num_stages, int64_t num_waves);

/// What the execution of a plan on pipelines takes. By slot and stage: [slot * num_stages + stage].
struct PipelineRun {
  int64_t total_ns = 0;                    ///< of the step, all-reduce included
  std::vector<int64_t> busy_ns;            ///< without waits
  std::vector<int64_t> idle_ns;            ///< the rest of the step, all-reduce not counted
  std::vector<int64_t> tokens_in_flight;   ///< most tokens whose activations a stage holds at a time
  std::vector<int64_t> batches_in_flight;  ///< most micro-batches with tokens that it holds at a time
};
/// When every operation runs, [operation * slots + slot]; mates' waits inside it included.
struct PipelineTimes {
  std::vector<PipelineOp> ops;
  std::vector<int64_t> start, end;
};
/// Runs the plan; micro-batch w of pipeline s is wave w on slot s. Note [Pipelines of a plan] in
/// pipeline.cpp. Fills `times` if there are any.
PipelineRun simulate_pipeline(const Plan& plan, const CostModel& cost, const PipelineShape& shape,
                              PipelineTimes* times = nullptr);

/// Lower bound in ns on `simulate_pipeline` of any plan within the cluster's caps: any assignment, ring
/// sizes, uneven shards, number of micro-batches. Source: Note [Pipeline bound] in pipeline_bound.cpp.
int64_t pipeline_bound(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                       const PipelineShape& shape);

/// Plans a step for pipelines: number of micro-batches, their sizes and order, samples over pipelines; the
/// cluster's caps hold per slot and micro-batch: a stage holds up to num_stages of them, of a num_stages-th
/// of the layers, so that a cap for the whole model on one rank keeps its memory. Note [Planning pipelines]
/// in pipeline_plan.cpp. Throws: Error as `check_batch`.
Plan plan_pipeline(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                   const PipelineShape& shape);

}  // namespace zoetrope
