// The simulator against the replay of traces: the same step written down as each rank's own list of compute
// pieces, posts and awaits, put on processors by a queue of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/planner.h"
#include "schedule/replay.h"
#include "schedule/simulate_lanes.h"
#include "schedule/simulate_work.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

/// Four rounds of transfers and two layers, so that every part of a latency is whole.
constexpr int64_t kLayers = 2, kLatencyParts = 4 * kLayers;

int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + int64_t(random() % uint64_t(high - low + 1));
}

/// Writes what one rank does in a step, in the order of parallel/context_attention.cpp.
class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const CostModel& cost, int slot) : plan_(plan), cost_(cost), slot_(slot) {}

  ReplayTrace write() {
    for (const Wave& wave : plan_.waves) {
      if (wave.slots[size_t(slot_)].empty()) continue;
      const WaveWork work = work_of(wave, FixedCost(cost_), 64);
      find_rings(work);
      for (int64_t layer = 0; layer < kLayers; ++layer) forward(work, cut(SimPass::kForward, layer));
      for (int64_t layer = 0; layer < kLayers; ++layer) {
        forward(work, cut(SimPass::kRecompute, layer));
        backward(work, cut(SimPass::kBackward, layer));
      }
    }
    return std::move(trace_);
  }

 private:
  struct Member {
    const SplitWork* ring;
    size_t position;
    int tag;
  };
  PassCuts cut(SimPass pass, int64_t layer) const { return cuts_of(cost_, pass).layer(layer, kLayers); }
  void find_rings(const WaveWork& work) {
    rings_.clear();
    for (size_t r = 0; r < work.rings.size(); ++r) {
      const auto& members = work.rings[r].members;
      const auto found = std::find(members.begin(), members.end(), slot_);
      if (found != members.end()) rings_.push_back({&work.rings[r], size_t(found - members.begin()), int(r)});
    }
  }
  void compute(int64_t ns) { trace_.push_back({ReplayEvent::kCompute, ns, 0, {}}); }
  void await(int64_t& number) {
    if (number >= 0) trace_.push_back({ReplayEvent::kAwait, number, 0, {}});
    number = -1;
  }
  /// Sends to the member `to` places further, receives from the one `to` places back.
  void post(const Member& m, size_t to, size_t step, const TimeCut& cut, bool gradients, int64_t& number) {
    const size_t n = m.ring->size;
    const size_t next = (m.position + to) % n, last = (m.position + n - to) % n;
    // A message's time is that of the block's transfer: keys of the sender's, gradients of the receiver's.
    const auto ns = [&](size_t position) { return cut.of(m.ring->step(position, step).transfer); };
    const int64_t out = gradients ? ns(m.position) : ns(next), in = gradients ? ns(last) : ns(m.position);
    const int tag = 2 * m.tag + gradients;
    trace_.push_back({ReplayEvent::kPost,
                      num_exchanges_,
                      0,
                      {{true, m.ring->members[next], tag, out}, {false, m.ring->members[last], tag, in}}});
    number = num_exchanges_++;
  }
  void start(size_t r, const PassCuts& cuts) { post(rings_[r], 1, 1, cuts.keys, false, keys_); }

  void forward(const WaveWork& work, const PassCuts& cuts) {
    compute(cuts.linear.of(work.linear[size_t(slot_)]));
    if (!rings_.empty()) start(0, cuts);
    compute(cuts.attention.of(work.local[size_t(slot_)]));
    for (size_t r = 0; r < rings_.size(); ++r) {
      const Member& m = rings_[r];
      compute(cuts.attention.of(m.ring->own[m.position]));
      for (size_t step = 1; step < m.ring->size; ++step) {
        await(keys_);
        if (step + 1 < m.ring->size) post(m, step + 1, step + 1, cuts.keys, false, keys_);
        else if (r + 1 < rings_.size()) start(r + 1, cuts);
        compute(cuts.attention.of(m.ring->step(m.position, step).compute));
      }
    }
  }

  void backward(const WaveWork& work, const PassCuts& cuts) {
    const int64_t local = work.local[size_t(slot_)];
    if (!rings_.empty()) start(0, cuts);
    for (size_t r = 0; r < rings_.size(); ++r) {
      const Member& m = rings_[r];
      const bool halves = r + 1 == rings_.size() && local == 0;
      const int64_t own = m.ring->own[m.position];
      compute(cuts.attention.part(0, halves ? 2 : 1).of(own));
      for (size_t step = 1; step < m.ring->size; ++step) {
        await(keys_);
        if (step + 1 < m.ring->size) post(m, step + 1, step + 1, cuts.keys, false, keys_);
        compute(cuts.attention.of(m.ring->step(m.position, step).compute));
        await(gradients_);
        post(m, m.ring->size - step, step, cuts.gradients, true, gradients_);
      }
      if (r + 1 < rings_.size()) start(r + 1, cuts);
      if (halves) compute(cuts.attention.part(1, 2).of(own));
    }
    compute(cuts.attention.of(local));
    await(gradients_);
    compute(cuts.linear.of(work.linear[size_t(slot_)]));
  }

  const Plan& plan_;
  const CostModel& cost_;
  int slot_;
  std::vector<Member> rings_;
  int64_t num_exchanges_ = 0, keys_ = -1, gradients_ = -1;
  ReplayTrace trace_;
};

ReplayResult replayed(const Plan& plan, const CostModel& cost) {
  std::vector<ReplayTrace> traces;
  for (int slot = 0; slot < plan.num_slots(); ++slot) traces.push_back(TraceWriter(plan, cost, slot).write());
  LinkModel link{1e9, int64_t(cost.latency_ns) / kLatencyParts, 0, 0};  // a message's bytes are its time
  link.in_order = true;
  link.ranks_per_node = cost.ranks_per_node;
  link.between_bytes_per_second = 1e9;
  link.between_latency_ns = int64_t(cost.latency_between_ns) / kLatencyParts;
  return replay(traces, link);
}

void expect_same(const Plan& plan, const CostModel& cost) {
  const Simulation simulation = simulate_layers(plan, cost, Execution::kFree, {kLayers, 64, true});
  const ReplayResult result = replayed(plan, cost);
  ASSERT_EQ(simulation.total_ns, result.total_ns);
  ASSERT_EQ(simulation.busy_ns, result.busy_ns);
  for (size_t lane = 0; lane < simulation.lanes.size(); ++lane) {
    const int64_t tail = simulation.total_ns - result.busy_ns[lane] - result.wait_ns[lane];
    ASSERT_EQ(simulation.exposed_ns[lane] + simulation.idle_ns[lane], result.wait_ns[lane] + tail);
  }
}

CostModel random_passes(std::mt19937_64& random) {
  CostModel cost;
  cost.ranks_per_node = pick(random, 1, 8);
  cost.linear_ns = double(pick(random, 0, 5000));
  cost.quadratic_ns = double(pick(random, 1, 40));
  cost.linear_forward_ns = cost.linear_ns / 4;
  cost.quadratic_forward_ns = cost.quadratic_ns / 4.5;
  cost.linear_recompute_ns = cost.linear_forward_ns;
  cost.quadratic_recompute_ns = cost.quadratic_forward_ns;
  cost.exchange_ns = double(pick(random, 0, 2) * 100);
  cost.transfer_ns = double(pick(random, 0, 20) * 500);
  cost.latency_ns = double(kLatencyParts * pick(random, 0, 4) * 1000);
  cost.transfer_between_ns = cost.transfer_ns * double(pick(random, 1, 3));
  cost.latency_between_ns = cost.latency_ns * double(pick(random, 1, 3));
  return cost;
}

TEST(SimulateReplayLaw, RingsOfAnyShapeTakeTheSame) {
  int64_t num_rings = 0;
  for (int round = 0; round < rounds(300); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << round);
    std::mt19937_64 random(static_cast<uint64_t>(round));
    const CostModel cost = random_passes(random);
    Cluster cluster;
    cluster.num_slots = pick(random, 2, 12);
    cluster.tokens_per_slot = pick(random, 100, 600);
    std::vector<int64_t> lengths(size_t(pick(random, 1, 30)));
    for (int64_t& length : lengths)
      length = std::min(cluster.num_slots * cluster.tokens_per_slot,
                        pick(random, 1, random() % 3 == 0 ? 4000 : 300));
    const bool lock_step = random() % 2 == 0;  // its planner makes chains of rings
    cluster.execution = lock_step ? Execution::kWaves : Execution::kFree;
    const Plan plan = make_plan({random() % 3 == 0 ? "dynamic" : "elastic", 0}, lengths, cost, cluster);
    for (const Wave& wave : plan.waves) num_rings += int64_t(wave.rings.size());
    ASSERT_NO_FATAL_FAILURE(expect_same(plan, cost));
  }
  EXPECT_GT(num_rings, rounds(300));
}

}  // namespace
}  // namespace zoetrope
