// Waves without layers, for cost sets on paper.
#include <algorithm>

#include "schedule/fixed_cost.h"
#include "schedule/simulate_lanes.h"

namespace zoetrope {
namespace {

// Note [Simulated paper sets]
// These sets define a figure, not a machine: a wave starts on a rank when the rank and its ring mates are
// free and takes what the cost model says. So the total is makespan_of's to the nanosecond; a rank's time in
// a wave is shown as compute first and then what its transfers add to it.

/// Lets each rank wait until its ring mates are free.
void wait_for_mates(const std::vector<RingView>& rings, SimLanes& lanes) {
  std::vector<std::pair<size_t, int64_t>> wanted;  // ends of waits, from the clocks before any of them
  for (const RingView& ring : rings) {
    int64_t latest = 0;
    for (int member : ring.members) latest = std::max(latest, lanes.clock(size_t(member)));
    for (int member : ring.members)
      if (lanes.clock(size_t(member)) < latest) wanted.emplace_back(size_t(member), latest);
  }
  for (const auto& [lane, time] : wanted) lanes.run_until(lane, SimSpan::kWait, time);
}

}  // namespace

Simulation simulate_whole_waves(const Plan& plan, const CostModel& cost, Execution execution) {
  const FixedCost fixed(cost);
  SimLanes lanes(size_t(plan.num_slots()), true);
  for (size_t w = 0; w < plan.waves.size(); ++w) {
    const Wave& wave = plan.waves[w];
    const std::vector<RingView> rings = split_samples(wave);
    const std::vector<int64_t> busy = makespan_of(Plan{{wave}}, cost).busy_ns;
    const std::vector<int64_t> exposed = exposed_of(wave, cost);
    const int64_t all_done = lanes.end();
    for (size_t lane = 0; lane < busy.size(); ++lane) {
      if (busy[lane] > 0 || execution == Execution::kWaves) lanes.begin_pass(lane, int64_t(w), false);
      if (execution == Execution::kWaves) lanes.run_until(lane, SimSpan::kWait, all_done);
    }
    if (execution == Execution::kFree) wait_for_mates(rings, lanes);
    for (size_t lane = 0; lane < busy.size(); ++lane) {
      lanes.run(lane, SimSpan::kCompute, busy[lane] - exposed[lane]);
      lanes.run(lane, SimSpan::kTransfer, exposed[lane]);
    }
  }
  Simulation simulation =
      lanes.finish(lanes.end() + (plan.num_slots() > 0 ? fixed.allreduce : 0), fixed.optimizer);
  set_peaks(plan, simulation);
  set_mfu(plan, cost, simulation);
  return simulation;
}

}  // namespace zoetrope
