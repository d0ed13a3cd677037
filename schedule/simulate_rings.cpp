#include "schedule/simulate_rings.h"

#include <algorithm>

namespace zoetrope {

void SimRings::await(size_t rank, Flight& flight) {
  if (!flight.is_open) return;
  flight.is_open = false;
  lanes_.run_until(rank, SimSpan::kWait, std::min(flight.posted, flight.complete));
  lanes_.run_until(rank, SimSpan::kTransfer, flight.complete);
}

void SimRings::await_keys(const Column& column) {
  for (size_t i = 0; i < column.work.size; ++i) {
    await(size_t(column.members[i]), at(column.members[i]).keys);
    at(column.members[i]).post = lanes_.clock(size_t(column.members[i]));
  }
}

/// Every member sends its block to one mate and gets another's; an exchange ends with both.
void SimRings::start_pairs(const Column& column, size_t step, const TimeCut& cut, bool gradients) {
  const size_t n = column.work.size;
  arrival_.resize(n);
  posted_.resize(n);
  for (size_t i = 0; i < n; ++i) {  // block of mate j: its keys come from j, its gradients go back
    const int me = column.members[i], mate = column.members[(i + n - step) % n];
    const RingStep& piece = column.work.step(i, step);
    int64_t& out = gradients ? at(me).port_out : at(mate).port_out;
    int64_t& in = gradients ? at(mate).port_in : at(me).port_in;
    posted_[i] = std::max(post_time(me, gradients), post_time(mate, gradients));
    out = in = std::max({posted_[i], out, in}) + cut.of(piece.transfer);
    arrival_[i] = in + cut.of(piece.latency);
  }
  for (size_t i = 0; i < n; ++i) {
    const size_t other = (i + step) % n;
    Rank& rank = at(column.members[i]);
    (gradients ? rank.gradients : rank.keys) =
        Flight{std::max(posted_[i], posted_[other]), std::max(arrival_[i], arrival_[other]), true};
  }
}

/// All members at once; each holds its ports for all that it gets.
void SimRings::start_together(const Column& column, size_t step, const TimeCut& cut, bool gradients) {
  int64_t posted = 0;
  for (size_t i = 0; i < column.work.size; ++i)
    posted = std::max(posted, post_time(column.members[i], gradients));
  for (size_t i = 0; i < column.work.size; ++i) {
    Rank& rank = at(column.members[i]);
    const RingStep& piece = column.work.step(i, step);
    rank.port_in = rank.port_out = std::max({posted, rank.port_in, rank.port_out}) + cut.of(piece.transfer);
    (gradients ? rank.gradients : rank.keys) = Flight{posted, rank.port_in + cut.of(piece.latency), true};
  }
}

void SimRings::start_keys(const Column& column, size_t step, const TimeCut& cut) {
  if (step > column.work.num_steps) return;
  column.work.together ? start_together(column, step, cut, false) : start_pairs(column, step, cut, false);
}

void SimRings::start_gradients(const Column& column, size_t step, const TimeCut& cut) {
  column.work.together ? start_together(column, step, cut, true) : start_pairs(column, step, cut, true);
}

/// Ranks that hold one block exchange tokens for heads, or back; nothing hides it.
void SimRings::exchange_heads(const SplitWork& ring, const TimeCut& cut) {
  if (ring.num_columns == 1) return;
  for (size_t position = 0; position < ring.size; ++position) {
    int64_t posted = 0;
    for (size_t column = 0; column < ring.num_columns; ++column)
      posted = std::max(posted, lanes_.clock(size_t(ring.members[column * ring.size + position])));
    for (size_t column = 0; column < ring.num_columns; ++column) {
      const size_t index = column * ring.size + position;
      Rank& rank = at(ring.members[index]);
      const int64_t end = std::max({posted, rank.port_in, rank.port_out}) + cut.of(ring.heads_ns[index]);
      Flight flight{posted, end, true};
      await(size_t(ring.members[index]), flight);
      rank.post = rank.port_in = rank.port_out = end;
    }
  }
}

void SimRings::attend(int rank, const RingStep& step, const PassCuts& cuts, bool backward) {
  compute(rank, cuts.attention.of(step.compute));
  if (step.other_transfers == 0) return;
  const int64_t transfers =
      cuts.keys.of(step.other_transfers) + (backward ? cuts.gradients.of(step.other_transfers) : 0);
  lanes_.run(size_t(rank), SimSpan::kTransfer,
             std::max<int64_t>(0, transfers - cuts.attention.of(step.other_compute)));
}

void SimRings::forward_ring(const SplitWork& ring, const PassCuts& cuts) {
  exchange_heads(ring, cuts.heads_before);
  const bool gathers = ring.exchange == Exchange::kAllGather;
  for (size_t number = 0; number < ring.num_columns; ++number) {
    const Column column{ring, ring.members.data() + number * ring.size};
    if (gathers)
      for (size_t i = 0; i < ring.size; ++i)
        at(column.members[i]).post = lanes_.clock(size_t(column.members[i]));
    start_keys(column, 1, cuts.keys);
    if (gathers) await_keys(column);
    for (size_t i = 0; i < ring.size; ++i) compute(column.members[i], cuts.attention.of(ring.own[i]));
    for (size_t step = 1; step <= ring.num_steps; ++step) {
      if (!gathers) await_keys(column);
      start_keys(column, step + 1, cuts.keys);
      for (size_t i = 0; i < ring.size; ++i) attend(column.members[i], ring.step(i, step), cuts, false);
    }
  }
  exchange_heads(ring, cuts.heads_after);
}

/// `keeps_half`: members that keep half of their own attention to hide the last gradients on their way.
void SimRings::backward_column(const Column& column, const PassCuts& cuts,
                               const std::vector<bool>& keeps_half) {
  const SplitWork& ring = column.work;
  const bool gathers = ring.exchange == Exchange::kAllGather;
  if (gathers)
    for (size_t i = 0; i < ring.size; ++i)
      at(column.members[i]).post = lanes_.clock(size_t(column.members[i]));
  start_keys(column, 1, cuts.keys);
  if (gathers) await_keys(column);
  for (size_t i = 0; i < ring.size; ++i)
    compute(column.members[i], cuts.attention.part(0, keeps_half[i] ? 2 : 1).of(ring.own[i]));
  for (size_t step = 1; step <= ring.num_steps; ++step) {
    if (!gathers) await_keys(column);
    start_keys(column, step + 1, cuts.keys);
    for (size_t i = 0; i < ring.size; ++i) {
      attend(column.members[i], ring.step(i, step), cuts, true);
      await(size_t(column.members[i]), at(column.members[i]).gradients);
    }
    start_gradients(column, step, cuts.gradients);
  }
  for (size_t i = 0; i < ring.size; ++i) {
    at(column.members[i]).post = lanes_.clock(size_t(column.members[i]));
    if (keeps_half[i]) compute(column.members[i], cuts.attention.part(1, 2).of(ring.own[i]));
  }
}

void SimRings::backward_ring(const WaveWork& work, size_t number, const PassCuts& cuts) {
  const SplitWork& ring = work.rings[number];
  exchange_heads(ring, cuts.heads_before);
  for (size_t c = 0; c < ring.num_columns; ++c) {
    const Column column{ring, ring.members.data() + c * ring.size};
    std::vector<bool> keeps_half(ring.size, false);
    if (ring.exchange != Exchange::kAllGather)
      for (size_t i = 0; i < ring.size; ++i) {
        const size_t slot = size_t(column.members[i]);
        keeps_half[i] = work.last_ring[slot] == int(number) && work.local[slot] == 0;
      }
    backward_column(column, cuts, keeps_half);
  }
  if (ring.num_columns == 1 && ring.exchange != Exchange::kAllGather) return;
  for (int member : ring.members) {  // nothing goes on before the gradients are there
    await(size_t(member), at(member).gradients);
    at(member).post = lanes_.clock(size_t(member));
  }
  exchange_heads(ring, cuts.heads_after);
}

void SimRings::forward_layer(const WaveWork& work, const PassCuts& cuts) {
  for (size_t slot = 0; slot < ranks_.size(); ++slot) {
    if (work.last_ring[slot] < 0) continue;
    compute(int(slot), cuts.linear.of(work.linear[slot]));
    ranks_[slot].post = lanes_.clock(slot);
    if (cuts.moves_keys) compute(int(slot), cuts.attention.of(work.local[slot]));
  }
  if (!cuts.moves_keys) return;
  for (const SplitWork& ring : work.rings) forward_ring(ring, cuts);
}

void SimRings::backward_layer(const WaveWork& work, const PassCuts& cuts) {
  for (size_t slot = 0; slot < ranks_.size(); ++slot)
    if (work.last_ring[slot] >= 0) ranks_[slot].post = lanes_.clock(slot);
  for (size_t number = 0; number < work.rings.size(); ++number) backward_ring(work, number, cuts);
  for (size_t slot = 0; slot < ranks_.size(); ++slot) {
    if (work.last_ring[slot] < 0) continue;
    compute(int(slot), cuts.attention.of(work.local[slot]));
    await(slot, ranks_[slot].gradients);
    compute(int(slot), cuts.linear.of(work.linear[slot]));
  }
}

}  // namespace zoetrope
