#include "parallel/context_attention.h"

#include <algorithm>
#include <chrono>

#include "parallel/ring_areas.h"
#include "schedule/issue_order.h"

namespace zoetrope {
namespace {

/// A split sample of the wave as this rank sees it.
struct RingWork {
  RingView view;
  int member = 0;
  std::vector<RingTransfer> forward, backward;  // in issue order
};

/// Where a call finds this rank's rows of the ring's sample, and how far its transfers are issued.
struct RingRows {
  const RingWork* work = nullptr;
  int64_t begin = 0, tokens = 0;
  size_t issued = 0;
  int last_step() const { return int(work->view.members.size()) - 1; }
  /// Tokens of the block that arrives in exchange step `step`.
  int64_t mate_tokens(int step) const {
    const int c = int(work->view.members.size());
    return work->view.tokens[size_t((work->member - step + c) % c)];
  }
};

Tensor rows_of(const Tensor& tensor, const RingRows& ring) {
  return tensor.slice_rows(ring.begin, ring.begin + ring.tokens);
}

int tag_of(const RingTransfer& transfer, int64_t sample) {
  constexpr int64_t kSampleTags = 8192;  // MPI guarantees tags up to 32767
  return int(sample % kSampleTags) * 3 + int(transfer.kind);
}

}  // namespace

struct ContextAttention::State {
  const Ops& ops;
  Comm& comm;
  Arena& arena;
  Precision precision;
  RingAreas areas;
  ExchangeStats stats;
  RingFault fault = RingFault::kNone;
  int64_t wave = -1;
  std::vector<RingWork> rings;

  // transfers of the call that runs
  std::unique_ptr<Transfer> keys, gradients;
  size_t key_parity = 0, gradient_parity = 0;  // area that the next keys go to / that is computed next
  const RingRows* gradient_owner = nullptr;    // ring whose dK, dV come back

  State(const Ops& the_ops, Comm& the_comm, Arena& the_arena, const ModelConfig& config,
        Precision the_precision, int64_t max_tokens)
      : ops(the_ops),
        comm(the_comm),
        arena(the_arena),
        precision(the_precision),
        areas(config, the_precision, max_tokens, the_ops.device()) {}

  void wait(std::unique_ptr<Transfer>& transfer) {
    const auto start = std::chrono::steady_clock::now();
    transfer->wait();
    transfer.reset();
    stats.wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::unique_ptr<Transfer> exchange(const Send& send, const Receive& receive) {
    stats.transfer_bytes += double(receive.bytes);
    ++stats.exchanges;
    return comm.exchange({send}, {receive});
  }

  std::vector<RingRows> find_rings(const MicroBatch& batch, std::vector<AttentionItem>& local_items) const;
  void pack(const RingRows& ring, const Tensor& k, const Tensor& v) const;
  const RingTransfer& next_transfer(RingRows& ring, bool backward, TransferKind kind, int step) const;
  void post_keys(RingRows& ring, bool backward, int step);
  void post_gradients(RingRows& ring, int step);
  void collect_gradients(const Tensor& dk, const Tensor& dv);
  int64_t hiding_keys(int64_t tokens) const;
};

std::vector<RingRows> ContextAttention::State::find_rings(const MicroBatch& batch,
                                                          std::vector<AttentionItem>& local_items) const {
  ZT_CHECK(batch.wave == wave, "attention of wave ", batch.wave, ", begin_wave said ", wave);
  std::vector<RingRows> found(rings.size());
  for (const SampleRows& rows : sample_rows(batch)) {
    const int64_t sample = batch.segments[size_t(rows.first_segment)].sample;
    const auto ring = std::find_if(rings.begin(), rings.end(),
                                   [sample](const RingWork& work) { return work.view.sample == sample; });
    if (ring == rings.end()) {
      if (rows.begin < rows.end) local_items.push_back({rows.begin, rows.end, rows.begin, rows.end});
      continue;
    }
    const int64_t planned = ring->view.tokens[size_t(ring->member)];
    ZT_CHECK(rows.end - rows.begin == planned, "sample ", sample, " has ", rows.end - rows.begin,
             " rows on rank ", comm.rank(), ", the plan says ", planned);
    found[size_t(ring - rings.begin())] = {&*ring, rows.begin, planned, 0};
  }
  for (size_t i = 0; i < found.size(); ++i)
    ZT_CHECK(found[i].work, "the micro-batch of rank ", comm.rank(), " lacks split sample ",
             rings[i].view.sample);
  return found;
}

void ContextAttention::State::pack(const RingRows& ring, const Tensor& k, const Tensor& v) const {
  copy(areas.own.keys(ring.tokens), rows_of(k, ring));
  copy(areas.own.values(ring.tokens), rows_of(v, ring));
}

/// The ring's next transfer in issue order, which must be the one that the caller is about to issue.
const RingTransfer& ContextAttention::State::next_transfer(RingRows& ring, bool backward, TransferKind kind,
                                                           int step) const {
  const std::vector<RingTransfer>& order = backward ? ring.work->backward : ring.work->forward;
  ZT_CHECK(ring.issued < order.size(), "sample ", ring.work->view.sample, " has no transfer ", ring.issued);
  const RingTransfer& next = order[ring.issued++];
  ZT_CHECK(next.kind == kind && next.step == step, "transfer out of the global issue order: sample ",
           ring.work->view.sample, ", step ", step, ", expected step ", next.step);
  return next;
}

void ContextAttention::State::post_keys(RingRows& ring, bool backward, int step) {
  const RingTransfer& next = next_transfer(
      ring, backward, backward ? TransferKind::kBackwardKeys : TransferKind::kForwardKeys, step);
  const KeyValueArea& area = areas.mates[key_parity];
  key_parity ^= 1;
  const int tag = tag_of(next, ring.work->view.sample);
  keys = exchange({next.send_to, areas.own.data(), areas.own.bytes(ring.tokens), tag},
                  {next.receive_from, area.data(), area.bytes(ring.mate_tokens(step)), tag});
}

void ContextAttention::State::post_gradients(RingRows& ring, int step) {
  const RingTransfer& next = next_transfer(ring, true, TransferKind::kGradients, step);
  const KeyValueArea& area = areas.gradients[gradient_parity];
  gradient_parity ^= 1;
  const int tag = tag_of(next, ring.work->view.sample);
  gradient_owner = &ring;
  gradients = exchange({next.send_to, area.data(), area.bytes(ring.mate_tokens(step)), tag},
                       {next.receive_from, areas.returned.data(), areas.returned.bytes(ring.tokens), tag});
}

/// Waits for the dK, dV that are under way and adds them: in order of exchange steps, so always the same.
void ContextAttention::State::collect_gradients(const Tensor& dk, const Tensor& dv) {
  if (!gradients) return;
  wait(gradients);
  const RingRows& ring = *gradient_owner;
  if (fault == RingFault::kLoseGradient) return;
  ops.add(rows_of(dk, ring), areas.returned.keys(ring.tokens));
  ops.add(rows_of(dv, ring), areas.returned.values(ring.tokens));
}

/// Own keys that backward computes while the first mate's K, V arrive; the others hide the last dK, dV on
/// their way home. Both parts last as long as the messages that they hide.
int64_t ContextAttention::State::hiding_keys(int64_t tokens) const {
  const int64_t arriving = areas.own.bytes(tokens), returning = areas.returned.bytes(tokens);
  return tokens * arriving / std::max<int64_t>(1, arriving + returning);
}

ContextAttention::ContextAttention(const Ops& ops, Comm& comm, Arena& arena, const ModelConfig& config,
                                   Precision precision, int64_t max_tokens)
    : state_(std::make_unique<State>(ops, comm, arena, config, precision, max_tokens)) {
  ops.set_progress([&comm] { comm.progress(); });
}
ContextAttention::~ContextAttention() { state_->ops.set_progress(nullptr); }

ExchangeStats& ContextAttention::stats() { return state_->stats; }
void ContextAttention::plant_fault(RingFault fault) { state_->fault = fault; }
int64_t ContextAttention::buffer_bytes(const ModelConfig& config, Precision precision, int64_t max_tokens) {
  return RingAreas::bytes(config, precision, max_tokens);
}

void ContextAttention::begin_wave(const Plan& plan, int64_t wave) {
  State& s = *state_;
  ZT_CHECK(plan.num_slots() == s.comm.size(), "a plan for ", plan.num_slots(), " slots on ", s.comm.size(),
           " ranks");
  for (const Ring& ring : plan.waves.at(size_t(wave)).rings)
    ZT_REQUIRE(ring.exchange == Exchange::kRing, "sample ", ring.sample, " of wave ", wave,
               " asks for exchange '", name_of(ring.exchange),
               "', and 'ring' is the one that runs; plan with rings only (num-heads 0)");
  s.wave = wave;
  s.rings.clear();
  for (RingView& view : split_samples(plan.waves.at(size_t(wave)))) {
    const auto me = std::find(view.members.begin(), view.members.end(), s.comm.rank());
    if (me == view.members.end()) continue;
    for (const int64_t tokens : view.tokens)
      ZT_CHECK(tokens <= s.areas.max_tokens, "a shard of sample ", view.sample, " has ", tokens,
               " tokens, the ring buffers hold ", s.areas.max_tokens);
    RingWork work;
    work.member = int(me - view.members.begin());
    work.forward = ring_transfers(view.members, work.member, false);
    work.backward = ring_transfers(view.members, work.member, true);
    work.view = std::move(view);
    s.rings.push_back(std::move(work));
  }
}

void ContextAttention::forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                               const Tensor& v, const MicroBatch& batch, int64_t, int64_t num_heads,
                               double scale) {
  State& s = *state_;
  std::vector<AttentionItem> local_items;
  std::vector<RingRows> rings = s.find_rings(batch, local_items);
  const auto start = [&](RingRows& ring) {
    s.pack(ring, k, v);
    s.post_keys(ring, false, 1);
  };
  if (!rings.empty()) start(rings[0]);
  if (!local_items.empty()) s.ops.attention(out, lse, q, k, v, local_items, num_heads, scale, false);
  for (size_t r = 0; r < rings.size(); ++r) {
    RingRows& ring = rings[r];
    const bool direct = out.dtype() == s.precision.wide;
    const Tensor running = direct ? rows_of(out, ring) : s.areas.accumulator(ring.tokens);
    const auto attend = [&](const Tensor& keys, const Tensor& values, bool accumulate) {
      const AttentionItem item{0, ring.tokens, 0, keys.rows()};
      s.ops.attention(running, rows_of(lse, ring), rows_of(q, ring), keys, values, {&item, 1}, num_heads,
                      scale, accumulate);
    };
    attend(rows_of(k, ring), rows_of(v, ring), false);
    for (int step = 1; step <= ring.last_step(); ++step) {
      const KeyValueArea& arrived = s.areas.mates[s.key_parity ^ 1];
      s.wait(s.keys);
      if (step < ring.last_step()) s.post_keys(ring, false, step + 1);
      else if (r + 1 < rings.size()) start(rings[r + 1]);  // all own K, V are sent: the area is free
      if (s.fault == RingFault::kSkipStep && step == 1) continue;
      const int64_t tokens = ring.mate_tokens(step);
      attend(arrived.keys(tokens), arrived.values(tokens), true);
    }
    if (!direct) s.ops.convert(rows_of(out, ring), running);
  }
}

void ContextAttention::backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const Tensor& lse, const MicroBatch& batch, int64_t, int64_t num_heads,
                                double scale) {
  State& s = *state_;
  std::vector<AttentionItem> local_items;
  std::vector<RingRows> rings = s.find_rings(batch, local_items);
  const auto start = [&](RingRows& ring) {
    s.pack(ring, k, v);
    s.post_keys(ring, true, 1);
  };
  if (!rings.empty()) start(rings[0]);
  const ArenaScope scope(s.arena);
  const Tensor delta = s.arena.take({q.rows(), num_heads}, s.precision.wide);
  s.ops.attention_delta(delta, dout, out, num_heads);
  for (const Tensor* gradient : {&dq, &dk, &dv}) s.ops.zero(*gradient);
  for (size_t r = 0; r < rings.size(); ++r) {
    RingRows& ring = rings[r];
    const auto differentiate = [&](const Tensor& dkeys, const Tensor& dvalues, const Tensor& keys,
                                   const Tensor& values) {
      if (keys.rows() == 0) return;
      const AttentionItem item{0, ring.tokens, 0, keys.rows()};
      s.ops.attention_backward(rows_of(dq, ring), dkeys, dvalues, rows_of(dout, ring), rows_of(out, ring),
                               rows_of(q, ring), keys, values, rows_of(lse, ring), rows_of(delta, ring),
                               {&item, 1}, num_heads, scale);
    };
    const auto differentiate_own = [&](int64_t from, int64_t to) {
      const auto part = [&](const Tensor& tensor) { return rows_of(tensor, ring).slice_rows(from, to); };
      differentiate(part(dk), part(dv), part(k), part(v));
    };
    const bool last = r + 1 == rings.size() && local_items.empty();
    const int64_t first_part = last ? s.hiding_keys(ring.tokens) : ring.tokens;
    differentiate_own(0, first_part);
    for (int step = 1; step <= ring.last_step(); ++step) {
      const KeyValueArea& arrived = s.areas.mates[s.key_parity ^ 1];
      s.wait(s.keys);
      if (step < ring.last_step()) s.post_keys(ring, true, step + 1);
      const int64_t tokens = ring.mate_tokens(step);
      const KeyValueArea& gradients = s.areas.gradients[s.gradient_parity];
      s.ops.zero(gradients.rows.slice_rows(0, 2 * tokens));
      if (s.fault != RingFault::kSkipStep || step > 1)
        differentiate(gradients.keys(tokens), gradients.values(tokens), arrived.keys(tokens),
                      arrived.values(tokens));
      s.collect_gradients(dk, dv);
      s.post_gradients(ring, step);
    }
    if (r + 1 < rings.size()) start(rings[r + 1]);
    differentiate_own(first_part, ring.tokens);
  }
  if (!local_items.empty())
    s.ops.attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, local_items, num_heads, scale);
  s.collect_gradients(dk, dv);
}

}  // namespace zoetrope
