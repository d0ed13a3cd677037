#include "schedule/simulate.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/fixed_cost.h"
#include "schedule/ring_price.h"
#include "schedule/simulate_lanes.h"

namespace zoetrope {
namespace {

// Note [Simulated step]
// Waves run as Note [Ring mates end together] in makespan.cpp has it, and a rank's time in a wave is compute
// first and then what its ring transfers leave uncovered.

/// Lets ring mates wait for each other: once (each rank waits for its own mates), or until all of a chain of
/// rings are equal.
void wait_for_mates(const std::vector<RingView>& rings, bool chained, SimLanes& lanes) {
  for (bool moved = true; moved;) {
    std::vector<std::pair<size_t, int64_t>> wanted;
    for (const RingView& ring : rings) {
      int64_t latest = 0;
      for (int member : ring.members) latest = std::max(latest, lanes.clock(size_t(member)));
      for (int member : ring.members)
        if (lanes.clock(size_t(member)) < latest) wanted.emplace_back(size_t(member), latest);
    }
    for (const auto& [lane, time] : wanted) lanes.run_until(lane, SimSpan::kWait, time);
    moved = chained && !wanted.empty();
  }
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
    if (execution == Execution::kFree) wait_for_mates(rings, cost.mates_end_together, lanes);
    for (size_t lane = 0; lane < busy.size(); ++lane) {
      lanes.run(lane, SimSpan::kCompute, busy[lane] - exposed[lane]);
      lanes.run(lane, SimSpan::kTransfer, exposed[lane]);
    }
    if (execution == Execution::kFree && cost.mates_end_together) wait_for_mates(rings, true, lanes);
  }
  Simulation simulation = lanes.finish(lanes.end() + (plan.num_slots() > 0 ? fixed.allreduce : 0));
  set_peaks(plan, simulation);
  set_mfu(plan, cost, simulation);
  return simulation;
}

Simulation simulate(const Plan& plan, const CostModel& cost, Execution execution) {
  return simulate_whole_waves(plan, cost, execution);
}

}  // namespace zoetrope
