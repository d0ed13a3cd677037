// Pipelines: the times of simulate_pipeline as lanes of stages.
#include <algorithm>

#include "schedule/fixed_cost.h"
#include "schedule/simulate_lanes.h"

namespace zoetrope {
namespace {

/// Busy and exposed time of every slot in every wave, forward and backward, all stages.
struct WaveTimes {
  std::vector<std::vector<int64_t>> busy, exposed;
};

WaveTimes times_of(const Plan& plan, const CostModel& cost) {
  WaveTimes times;
  for (const Wave& wave : plan.waves) {
    times.busy.push_back(makespan_of(Plan{{wave}}, cost).busy_ns);
    times.exposed.push_back(exposed_of(wave, cost));
  }
  return times;
}

/// Most segments whose activations a stage holds at a time.
void set_segments(const Plan& plan, const PipelineTimes& times, Simulation& simulation) {
  const size_t stages = size_t(simulation.num_stages);
  std::vector<int64_t> held(simulation.busy_ns.size(), 0);
  simulation.peak_segments = held;
  for (const PipelineOp& op : times.ops)
    for (size_t slot = 0; slot < size_t(plan.num_slots()); ++slot) {
      const size_t lane = slot * stages + size_t(op.stage);
      held[lane] += (op.backward ? -1 : 1) * int64_t(plan.waves[size_t(op.wave)].slots[slot].size());
      simulation.peak_segments[lane] = std::max(simulation.peak_segments[lane], held[lane]);
    }
}

}  // namespace

Simulation simulate(const Plan& plan, const CostModel& cost, const PipelineShape& shape) {
  PipelineTimes times;
  const PipelineRun run = simulate_pipeline(plan, cost, shape, &times);
  const WaveTimes waves = times_of(plan, cost);
  const size_t num_slots = size_t(plan.num_slots()), stages = size_t(shape.num_stages);
  SimLanes lanes(num_slots * stages, true);
  for (size_t number = 0; number < times.ops.size(); ++number) {
    const PipelineOp& op = times.ops[number];
    const auto time = [&](int64_t ns) { return op.backward ? shape.backward_ns(ns) : shape.forward_ns(ns); };
    for (size_t slot = 0; slot < num_slots; ++slot) {
      const int64_t busy = waves.busy[size_t(op.wave)][slot];
      if (busy == 0) continue;
      const size_t lane = slot * stages + size_t(op.stage), cell = number * num_slots + slot;
      const int64_t compute = time(busy - waves.exposed[size_t(op.wave)][slot]);
      lanes.begin_pass(lane, op.wave, op.backward);
      lanes.run_until(lane, SimSpan::kWait, times.start[cell]);
      lanes.run(lane, SimSpan::kCompute, compute);
      lanes.run(lane, SimSpan::kTransfer, time(busy) - compute);
      lanes.run_until(lane, SimSpan::kWait, times.end[cell]);
    }
  }
  Simulation simulation = lanes.finish(run.total_ns, FixedCost(cost).optimizer);
  simulation.num_stages = shape.num_stages;
  simulation.peak_tokens = run.tokens_in_flight;
  set_segments(plan, times, simulation);
  set_mfu(plan, cost, simulation);
  return simulation;
}

}  // namespace zoetrope
