#include "schedule/simulate.h"

#include <algorithm>

#include "schedule/simulate_lanes.h"
#include "schedule/simulate_rings.h"

namespace zoetrope {
namespace {

// Note [Simulated step]
// Every rank runs its waves layer by layer, in forward, recompute and backward, as parallel/ does: first what
// is not attention (tokens, segments, the wave's overhead), then the attention of unsplit samples, which
// hides the first ring's first transfer, then ring by ring its own block and the mates' blocks, each awaited,
// the next keys posted before a block is computed, gradients sent home behind the next block. In backward the
// unsplit samples come last and hide the last gradients; a rank without any keeps half of its own block for
// that. A transfer is ready when both ends have posted it, holds the sender's port out and the receiver's
// port in, at the rate of the link between these two ranks, and arrives a latency later; ports serve a rank's
// transfers in the order in which it issues them.
// All ranks issue in one global order (wave, pass, layer, ring, step), and nothing waits for what comes later
// in it. So the events are evaluated in that order, each once, without a queue; no wait can be circular.
// Waves in lock-step begin together. The gradient all-reduce goes in parts, last layers first; a rank offers
// them layer by layer in the backward of its last wave when no ring is in that, else when it is done.
// Where the total may differ from makespan_of's, which adds up a wave's times per rank and lets mates end
// together:
//  - less: own and unsplit attention hides transfers; members of a ring on one node use the links inside; a
//    rank may be up to a layer ahead of its mates; a ring-free last wave hides part of the all-reduce.
//  - more: each pass covers its own transfers, not the sum of them; uneven shards wait for the slowest member
//    in every step; a chain of rings passes delays on, layer by layer, and a rank can't do other work
//    meanwhile; keys and gradients share a port.
// Without rings both are the same but for the optimizer, which follows on the all-reduce here; each rank's
// compute always is. Not modelled: links shared by several ranks, compute slowed down by transfers, loader,
// collectives of parameters inside a wave.
// Large pools: neighbouring layers are joined, and steps of large rings; then the members of a ring wait for
// all of them at each joined step, whose other transfers overlap with their compute as one long step.

constexpr int64_t kBuckets = 8;  ///< parts of the gradient all-reduce, last layers first

/// Ranks through the waves of a plan, layer by layer. Note [Simulated step].
class RankSimulation {
 public:
  RankSimulation(const Plan& plan, const CostModel& cost, Execution execution, const SimDetail& detail)
      : plan_(plan),
        cost_(cost),
        fixed_(cost),
        execution_(execution),
        num_layers_(detail.layer_groups),
        ring_steps_(detail.ring_steps),
        lanes_(size_t(plan.num_slots()), detail.all_spans),
        rings_(lanes_, size_t(plan.num_slots())),
        last_wave_(size_t(plan.num_slots()), -1),
        overlaps_(size_t(plan.num_slots()), false),
        bucket_ready_(kBuckets, 0) {
    for (size_t w = 0; w < plan.waves.size(); ++w)
      for (size_t slot = 0; slot < last_wave_.size(); ++slot)
        if (!plan.waves[w].slots[slot].empty()) last_wave_[slot] = int64_t(w);
  }

  Simulation run() {
    for (size_t w = 0; w < plan_.waves.size(); ++w) run_wave(int64_t(w));
    Simulation simulation = lanes_.finish(plan_.num_slots() > 0 ? end_of_allreduce() : 0, fixed_.optimizer);
    set_peaks(plan_, simulation);
    set_mfu(plan_, cost_, simulation);
    return simulation;
  }

 private:
  void run_wave(int64_t number) {
    const Wave& wave = plan_.waves[size_t(number)];
    const WaveWork work = work_of(wave, fixed_, ring_steps_);
    if (execution_ == Execution::kWaves) {
      const int64_t all_done = lanes_.end();
      for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
        lanes_.begin_pass(slot, number, false);
        lanes_.run_until(slot, SimSpan::kWait, all_done);
      }
    }
    for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
      if (wave.slots[slot].empty()) continue;
      lanes_.begin_pass(slot, number, false);
      if (work.last_ring[slot] < 0) run_alone(slot, number, work);
    }
    if (work.rings.empty()) return;
    const PassCuts forward = cuts_of(cost_, SimPass::kForward), again = cuts_of(cost_, SimPass::kRecompute),
                   backward = cuts_of(cost_, SimPass::kBackward);
    for (int64_t layer = 0; layer < num_layers_; ++layer)
      rings_.forward_layer(work, forward.layer(layer, num_layers_));
    for (size_t slot = 0; slot < wave.slots.size(); ++slot)
      if (work.last_ring[slot] >= 0) lanes_.begin_pass(slot, number, true);
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      rings_.forward_layer(work, again.layer(layer, num_layers_));
      rings_.backward_layer(work, backward.layer(layer, num_layers_));
    }
  }

  /// A rank without rings in the wave waits for nobody.
  void run_alone(size_t slot, int64_t number, const WaveWork& work) {
    const PassCuts forward = cuts_of(cost_, SimPass::kForward);
    const int64_t first = forward.linear.of(work.linear[slot]) + forward.attention.of(work.local[slot]);
    const int64_t rest = work.linear[slot] + work.local[slot] - first;
    lanes_.run(slot, SimSpan::kCompute, first);
    lanes_.begin_pass(slot, number, true);
    const int64_t begin = lanes_.clock(slot);
    lanes_.run(slot, SimSpan::kCompute, rest);
    if (number != last_wave_[slot]) return;
    overlaps_[slot] = true;
    for (int64_t bucket = 0; bucket < kBuckets; ++bucket)
      ready(bucket, begin + TimeCut{}.part(bucket, kBuckets).end_of(rest));
  }

  void ready(int64_t bucket, int64_t time) {
    bucket_ready_[size_t(bucket)] = std::max(bucket_ready_[size_t(bucket)], time);
  }

  int64_t end_of_allreduce() {
    for (size_t slot = 0; slot < overlaps_.size(); ++slot)
      if (!overlaps_[slot]) ready(0, lanes_.clock(slot));
    int64_t end = 0;
    for (int64_t bucket = 0; bucket < kBuckets; ++bucket)
      end = std::max(end, bucket_ready_[size_t(bucket)]) +
            TimeCut{}.part(bucket, kBuckets).of(fixed_.allreduce);
    return end;
  }

  const Plan& plan_;
  const CostModel& cost_;
  const FixedCost fixed_;
  Execution execution_;
  int64_t num_layers_, ring_steps_;
  SimLanes lanes_;
  SimRings rings_;
  std::vector<int64_t> last_wave_;  ///< with tokens, by slot
  std::vector<bool> overlaps_;      ///< its buckets start in its last backward
  std::vector<int64_t> bucket_ready_;
};

}  // namespace

SimDetail detail_of(const Plan& plan, const CostModel& cost) {
  constexpr int64_t kMostGroups = 16, kLeastGroups = 2, kLeastSteps = 2;
  constexpr int64_t kMostExchanges = 24'000'000, kMostSpans = int64_t(1) << 19;
  SimDetail detail;
  const auto exchanges = [&] { return std::max<int64_t>(1, num_exchanges(plan, detail.ring_steps)); };
  while (kLeastGroups * exchanges() > kMostExchanges && detail.ring_steps > kLeastSteps)
    detail.ring_steps /= 2;
  const int64_t most = cost.num_layers > 0 ? std::min(kMostGroups, cost.num_layers) : kMostGroups;
  detail.layer_groups = std::clamp<int64_t>(kMostExchanges / exchanges(), 1, most);
  detail.all_spans = exchanges() * detail.layer_groups * 6 <= kMostSpans;  // compute, wait in three passes
  return detail;
}

Simulation simulate_layers(const Plan& plan, const CostModel& cost, Execution execution,
                           const SimDetail& detail) {
  return RankSimulation(plan, cost, execution, detail).run();
}

Simulation simulate(const Plan& plan, const CostModel& cost, Execution execution) {
  if (!cost.mates_end_together) return simulate_whole_waves(plan, cost, execution);
  return simulate_layers(plan, cost, execution, detail_of(plan, cost));
}

}  // namespace zoetrope
