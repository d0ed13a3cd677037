#include "schedule/simulate_lanes.h"

#include <algorithm>

#include "schedule/fixed_cost.h"
#include "schedule/ring_price.h"

namespace zoetrope {

SimLanes::SimLanes(size_t num_lanes, bool in_detail) : lanes_(num_lanes), in_detail_(in_detail) {}

int64_t SimLanes::end() const {
  int64_t latest = 0;
  for (const Lane& lane : lanes_) latest = std::max(latest, lane.clock);
  return latest;
}

void SimLanes::append(Lane& lane, SimSpan::Kind kind, int64_t begin, int64_t end) const {
  if (begin == end) return;
  if (!lane.spans.empty()) {
    SimSpan& last = lane.spans.back();
    if (last.kind == kind && last.wave == lane.wave && last.backward == lane.backward) {
      last.end_ns = end;
      return;
    }
  }
  lane.spans.push_back({kind, begin, end, lane.wave, lane.backward});
}

void SimLanes::end_pass(Lane& lane) const {
  int64_t at = lane.pass_begin;
  for (const SimSpan::Kind kind : {SimSpan::kWait, SimSpan::kCompute, SimSpan::kTransfer}) {
    append(lane, kind, at, at + lane.in_pass[kind]);
    at += lane.in_pass[kind];
  }
  lane.in_pass = {};
  lane.pass_begin = at;
}

void SimLanes::begin_pass(size_t number, int64_t wave, bool backward) {
  Lane& lane = lanes_[number];
  end_pass(lane);
  lane.wave = wave;
  lane.backward = backward;
}

void SimLanes::run_until(size_t number, SimSpan::Kind kind, int64_t time) {
  Lane& lane = lanes_[number];
  if (time <= lane.clock) return;
  lane.sums[kind] += time - lane.clock;
  if (in_detail_) {
    append(lane, kind, lane.clock, time);
    lane.pass_begin = time;
  } else {
    lane.in_pass[kind] += time - lane.clock;
  }
  lane.clock = time;
}

Simulation SimLanes::finish(int64_t reduced, int64_t optimizer_ns) {
  Simulation simulation;
  const int64_t all_done = end();
  simulation.allreduce_ns = std::max(reduced, all_done) - all_done;
  simulation.optimizer_ns = lanes_.empty() ? 0 : optimizer_ns;
  simulation.total_ns = all_done + simulation.allreduce_ns + simulation.optimizer_ns;
  for (size_t number = 0; number < lanes_.size(); ++number) {
    Lane& lane = lanes_[number];
    begin_pass(number, -1, false);
    run_until(number, SimSpan::kWait, all_done);
    end_pass(lane);
    append(lane, SimSpan::kAllReduce, all_done, all_done + simulation.allreduce_ns);
    append(lane, SimSpan::kOptimizer, all_done + simulation.allreduce_ns, simulation.total_ns);
    simulation.busy_ns.push_back(lane.sums[SimSpan::kCompute]);
    simulation.exposed_ns.push_back(lane.sums[SimSpan::kTransfer]);
    simulation.idle_ns.push_back(lane.sums[SimSpan::kWait]);
    simulation.lanes.push_back(std::move(lane.spans));
  }
  lanes_.clear();
  return simulation;
}

LaneFigure figure_of(const std::vector<int64_t>& by_lane) {
  if (by_lane.empty()) return {};
  double sum = 0;
  for (int64_t value : by_lane) sum += double(value);
  return {*std::max_element(by_lane.begin(), by_lane.end()), sum / double(by_lane.size())};
}

std::vector<int64_t> exposed_of(const Wave& wave, const CostModel& cost_model) {
  const FixedCost cost(cost_model);
  FixedCost no_links = cost;
  no_links.transfer = no_links.transfer_between = no_links.all_to_all = 0;
  no_links.latency = no_links.latency_between = 0;
  std::vector<int64_t> exposed(wave.slots.size(), 0);
  const std::vector<RingView> rings = split_samples(wave);
  for (size_t r = 0; r < rings.size(); ++r) {
    const std::vector<int64_t> all = ring_ns(cost, wave.rings[r].exchange, rings[r]);
    const std::vector<int64_t> compute = ring_ns(no_links, wave.rings[r].exchange, rings[r]);
    for (size_t i = 0; i < all.size(); ++i) exposed[size_t(rings[r].members[i])] += all[i] - compute[i];
  }
  return exposed;
}

void set_peaks(const Plan& plan, Simulation& simulation) {
  simulation.peak_tokens.assign(size_t(plan.num_slots()), 0);
  simulation.peak_segments = simulation.peak_tokens;
  for (const Wave& wave : plan.waves)
    for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
      int64_t& tokens = simulation.peak_tokens[slot];
      int64_t& segments = simulation.peak_segments[slot];
      tokens = std::max(tokens, tokens_of(wave.slots[slot]));
      segments = std::max(segments, int64_t(wave.slots[slot].size()));
    }
}

void set_mfu(const Plan& plan, const CostModel& cost, Simulation& simulation) {
  if (cost.gemm_flops == 0 || simulation.total_ns == 0) return;
  std::vector<int64_t> lengths;
  for (const Wave& wave : plan.waves)
    for (const auto& slot : wave.slots)
      for (const Shard& shard : slot) {
        if (size_t(shard.sample) >= lengths.size()) lengths.resize(size_t(shard.sample) + 1, 0);
        lengths[size_t(shard.sample)] += shard.num_tokens();
      }
  double useful = 0;
  for (int64_t tokens : lengths)
    useful += cost.linear_flops * double(tokens) + cost.quadratic_flops * double(tokens) * double(tokens);
  const double seconds = 1e-9 * double(simulation.total_ns);
  simulation.mfu = useful / (seconds * double(simulation.busy_ns.size()) * cost.gemm_flops);
}

}  // namespace zoetrope
