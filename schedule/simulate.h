// Runs a plan on paper in more detail than makespan_of: what every rank or pipeline stage does when, what it
// waits for, and which share of the machine's peak that is.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"
#include "schedule/pipeline.h"
#include "schedule/plan.h"

namespace zoetrope {

/// What a lane does between two times.
struct SimSpan {
  enum Kind {
    kCompute,
    kTransfer,   ///< waits for a ring transfer that is under way
    kWait,       ///< waits for ring mates, the previous wave, a stage, or the slowest rank of the step
    kAllReduce,  ///< waits for the sum of gradients, when all ranks are done
    kOptimizer,  ///< norm, update and prepared weights
  };
  Kind kind = kCompute;
  int64_t begin_ns = 0, end_ns = 0;
  int64_t wave = -1;      ///< -1: after the last one
  bool backward = false;  ///< recompute included
  bool operator==(const SimSpan&) const = default;
};

/// A step on paper. Lanes are ranks; with pipelines stages, [slot * num_stages + stage].
struct Simulation {
  int64_t total_ns = 0, num_stages = 1;
  std::vector<std::vector<SimSpan>> lanes;            ///< in time order, without gaps from 0 to total_ns
  std::vector<int64_t> busy_ns, exposed_ns, idle_ns;  ///< per lane: sums of compute, transfer and wait
  int64_t allreduce_ns = 0;                           ///< of total_ns, on every lane: when all are done
  int64_t optimizer_ns = 0;                           ///< of total_ns, on every lane: after that
  std::vector<int64_t> peak_tokens, peak_segments;    ///< per lane: most that it holds at a time
  double mfu = 0;  ///< useful FLOP / (total_ns x lanes x gemm_flops); 0: the cost set doesn't say
};

/// A figure over lanes.
struct LaneFigure {
  int64_t most = 0;
  double mean = 0;
};
/// The largest and the mean; 0 without lanes.
LaneFigure figure_of(const std::vector<int64_t>& by_lane);

/// Runs the plan rank by rank. Throws: Error when a ring's exchange scheme can't be.
/// Source: Note [Simulated step] in simulate.cpp.
Simulation simulate(const Plan& plan, const CostModel& cost, Execution execution = Execution::kFree);
/// The same on pipelines: the times of simulate_pipeline, which knows no layers.
Simulation simulate(const Plan& plan, const CostModel& cost, const PipelineShape& shape);

}  // namespace zoetrope
