#include "schedule/simulate_work.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

/// Share of a part in 2^-32.
int64_t share_of(double part, double whole) {
  return whole > 0 ? int64_t(part / whole * double(TimeCut::kWhole)) : 0;
}

/// Shares of forward and recompute; the rest is backward.
TimeCut pass_of(double forward, double recompute, double whole, SimPass pass) {
  int64_t first = share_of(forward, whole), second = first + share_of(recompute, whole);
  if (first == 0) first = second = TimeCut::kWhole / 3;
  second = std::min(second, TimeCut::kWhole);
  switch (pass) {
    case SimPass::kForward: return {0, first};
    case SimPass::kRecompute: return {first, second};
    case SimPass::kBackward: return {second, TimeCut::kWhole};
  }
  return {};
}

/// Tokens of the ring's blocks `begin` .. `end` - 1, counted round and round.
class BlockSums {
 public:
  explicit BlockSums(const std::vector<int64_t>& blocks) : sums_{0} {
    for (int round = 0; round < 2; ++round)
      for (int64_t block : blocks) sums_.push_back(sums_.back() + block);
  }
  int64_t sum(size_t begin, size_t end) const { return sums_[end] - sums_[begin]; }

 private:
  std::vector<int64_t> sums_;
};

/// Prices of a split sample's pieces.
class SplitPieces {
 public:
  SplitPieces(const FixedCost& cost, int64_t heads_over) : cost_(cost), heads_over_(heads_over) {}

  int64_t attention(int64_t own, int64_t tokens, int64_t num_blocks) const {
    return FixedCost::scale_up_ratio(
        cost_.quadratic, static_cast<__int128>(own) * (tokens + num_blocks * cost_.short_block * heads_over_),
        heads_over_);
  }
  /// `num_blocks` blocks of together so many tokens, of which `tokens_between` come from other nodes.
  RingStep remote(int64_t own, int64_t tokens, int64_t num_blocks, int64_t tokens_between,
                  int64_t blocks_between) const {
    const int64_t compute =
        attention(own, tokens, num_blocks) + FixedCost::scale_up_ratio(cost_.exchange, tokens, heads_over_);
    const int64_t transfer = FixedCost::scale_up_ratio(cost_.transfer, tokens - tokens_between, heads_over_) +
                             FixedCost::scale_up_ratio(cost_.transfer_between, tokens_between, heads_over_);
    return {compute, transfer,
            (num_blocks - blocks_between) * cost_.latency + blocks_between * cost_.latency_between, 0, 0};
  }
  int64_t heads(int64_t tokens) const {
    if (heads_over_ == 1) return 0;
    return FixedCost::scale_up_ratio(cost_.all_to_all, static_cast<__int128>(tokens) * (heads_over_ - 1),
                                     heads_over_) +
           2 * cost_.latency;
  }

 private:
  const FixedCost& cost_;
  int64_t heads_over_;
};

/// Members in columns, and the tokens of the block at each position.
std::vector<int64_t> set_columns(const RingView& ring, int64_t ranks_per_node, SplitWork& work) {
  if (work.exchange == Exchange::kRing || work.exchange == Exchange::kAllGather) {
    work.size = ring.members.size();
    work.members = ring.members;
    return ring.tokens;
  }
  std::vector<int64_t> nodes, blocks;
  std::vector<std::vector<int>> members;
  for (size_t i = 0; i < ring.members.size(); ++i) {
    const int64_t node = ring.members[i] / ranks_per_node;
    const size_t position = size_t(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
    if (position == nodes.size()) nodes.push_back(node), blocks.push_back(0), members.emplace_back();
    blocks[position] += ring.tokens[i];
    members[position].push_back(ring.members[i]);
  }
  work.size = nodes.size();
  work.num_columns = members[0].size();
  for (size_t column = 0; column < work.num_columns; ++column)
    for (const std::vector<int>& of_node : members) work.members.push_back(of_node[column]);
  return blocks;
}

/// Every transfer of a ring for itself, between the ranks that it goes between.
void set_single_steps(const std::vector<int64_t>& blocks, const SplitPieces& pieces, int64_t ranks_per_node,
                      SplitWork& work) {
  work.num_steps = work.size - 1;
  for (size_t position = 0; position < work.size; ++position)
    for (size_t step = 1; step < work.size; ++step) {
      const size_t mate = (position + work.size - step) % work.size;
      const bool between = work.members[position] / ranks_per_node != work.members[mate] / ranks_per_node;
      work.steps.push_back(
          pieces.remote(blocks[position], blocks[mate], 1, between ? blocks[mate] : 0, between ? 1 : 0));
    }
}

/// At most `most` steps that stand for several transfers each; a ring over several nodes goes at the pace of
/// the links between them.
void set_joined_steps(const std::vector<int64_t>& blocks, const SplitPieces& pieces, size_t most,
                      bool between, SplitWork& work) {
  const BlockSums sums(blocks);
  work.num_steps = std::min(most, work.size - 1);
  work.together = true;
  for (size_t position = 0; position < work.size; ++position)
    for (size_t step = 0; step < work.num_steps; ++step) {
      const size_t first = 1 + (work.size - 1) * step / work.num_steps;
      const size_t last = (work.size - 1) * (step + 1) / work.num_steps;
      const size_t end = position + work.size - first + 1;
      const int64_t number = int64_t(last - first) + 1;
      const int64_t tokens = sums.sum(end - size_t(number), end);
      RingStep piece =
          pieces.remote(blocks[position], tokens, number, between ? tokens : 0, between ? number : 0);
      piece.other_transfers = (piece.transfer + piece.latency) * (number - 1) / number;
      piece.other_compute = piece.compute * (number - 1) / number;
      piece.transfer /= number;
      piece.latency /= number;
      work.steps.push_back(piece);
    }
}

/// One step in which every member gets all blocks, each over its own link; latency counts once.
void set_gather_step(const std::vector<int64_t>& blocks, const SplitPieces& pieces, const FixedCost& cost,
                     bool between, SplitWork& work) {
  work.num_steps = 1;
  work.together = true;
  std::vector<std::pair<int64_t, int64_t>> of_node;  // node, tokens
  int64_t all = 0;
  for (size_t i = 0; i < work.size; ++i) {
    const int64_t node = work.members[i] / cost.ranks_per_node;
    const auto found =
        std::find_if(of_node.begin(), of_node.end(), [&](const auto& entry) { return entry.first == node; });
    if (found == of_node.end()) of_node.emplace_back(node, blocks[i]);
    else found->second += blocks[i];
    all += blocks[i];
  }
  for (size_t i = 0; i < work.size; ++i) {
    const int64_t node = work.members[i] / cost.ranks_per_node;
    const auto found =
        std::find_if(of_node.begin(), of_node.end(), [&](const auto& entry) { return entry.first == node; });
    RingStep step = pieces.remote(blocks[i], all - blocks[i], int64_t(work.size) - 1, all - found->second, 0);
    step.latency = between ? cost.latency_between : cost.latency;
    work.steps.push_back(step);
  }
}

SplitWork split_work(const RingView& ring, Exchange exchange, const FixedCost& cost, int64_t ring_steps) {
  const RingPlace place = place_of(ring.members, cost.ranks_per_node);
  ZT_CHECK(can_exchange(cost, exchange, place), "sample ", ring.sample, ": ", name_of(exchange), " on ",
           place.num_members, " ranks of ", place.num_nodes, " nodes can't be");
  SplitWork work;
  work.exchange = exchange;
  const std::vector<int64_t> blocks = set_columns(ring, cost.ranks_per_node, work);
  const SplitPieces pieces(cost, int64_t(work.num_columns));
  for (int64_t block : blocks) work.own.push_back(pieces.attention(block, block, 1));
  if (work.num_columns > 1) {
    work.heads_ns.resize(work.members.size());
    for (size_t i = 0; i < ring.members.size(); ++i)
      work.heads_ns[size_t(std::find(work.members.begin(), work.members.end(), ring.members[i]) -
                           work.members.begin())] = pieces.heads(ring.tokens[i]);
  }
  const bool between = place.num_nodes > 1;
  if (exchange == Exchange::kAllGather) set_gather_step(blocks, pieces, cost, between, work);
  else if (int64_t(work.size) - 1 <= ring_steps) set_single_steps(blocks, pieces, cost.ranks_per_node, work);
  else set_joined_steps(blocks, pieces, size_t(ring_steps), between, work);
  return work;
}

}  // namespace

PassCuts PassCuts::layer(int64_t number, int64_t count) const {
  return {linear.part(number, count),
          attention.part(number, count),
          keys.part(number, count),
          gradients.part(number, count),
          heads_before.part(number, count),
          heads_after.part(number, count),
          moves_keys};
}

PassCuts cuts_of(const CostModel& cost, SimPass pass) {
  PassCuts cuts;
  cuts.linear = pass_of(cost.linear_forward_ns, cost.linear_recompute_ns, cost.linear_ns, pass);
  cuts.attention = pass_of(cost.quadratic_forward_ns, cost.quadratic_recompute_ns, cost.quadratic_ns, pass);
  const bool again = cost.quadratic_forward_ns > 0 && cost.quadratic_recompute_ns > 0;
  const int64_t passes = again ? 3 : 2, rounds = passes + 1;
  const int64_t number = pass == SimPass::kForward ? 0 : pass == SimPass::kRecompute ? 1 : passes - 1;
  cuts.moves_keys = again || pass != SimPass::kRecompute;
  cuts.keys = TimeCut{}.part(number, rounds);
  cuts.gradients = TimeCut{}.part(rounds - 1, rounds);
  cuts.heads_before = TimeCut{}.part(2 * number, 2 * passes);
  cuts.heads_after = TimeCut{}.part(2 * number + 1, 2 * passes);
  return cuts;
}

WaveWork work_of(const Wave& wave, const FixedCost& cost, int64_t ring_steps) {
  const size_t num_slots = wave.slots.size();
  WaveWork work;
  work.linear.assign(num_slots, 0);
  work.local = work.linear;
  work.last_ring.assign(num_slots, -1);
  const std::vector<RingView> rings = split_samples(wave);
  ZT_CHECK(wave.rings.size() == rings.size(), "a wave lists ", wave.rings.size(), " rings and has ",
           rings.size());
  const std::vector<bool> is_ring = split_flags(rings);
  for (size_t r = 0; r < rings.size(); ++r) {
    work.rings.push_back(split_work(rings[r], wave.rings[r].exchange, cost, ring_steps));
    for (size_t i = 0; i < rings[r].members.size(); ++i) {
      const size_t slot = size_t(rings[r].members[i]);
      work.linear[slot] += FixedCost::scale_up(cost.linear, rings[r].tokens[i]) + cost.segment;
      work.last_ring[slot] = int(r);
    }
  }
  for (size_t slot = 0; slot < num_slots; ++slot) {
    if (!wave.slots[slot].empty()) work.linear[slot] += cost.wave;
    std::vector<Shard> whole;
    for (const Shard& shard : wave.slots[slot])
      if (size_t(shard.sample) >= is_ring.size() || !is_ring[size_t(shard.sample)]) whole.push_back(shard);
    std::stable_sort(whole.begin(), whole.end(),
                     [](const Shard& a, const Shard& b) { return a.sample < b.sample; });
    for (size_t i = 0; i < whole.size(); ++i) {
      const int64_t tokens = whole[i].num_tokens();
      work.linear[slot] += FixedCost::scale_up(cost.linear, tokens) + cost.segment;
      work.local[slot] += FixedCost::scale_up(cost.quadratic, tokens * tokens);
      for (size_t j = i; j-- > 0 && whole[j].sample == whole[i].sample;)  // ranges attend to each other
        work.local[slot] += 2 * FixedCost::scale_up(cost.quadratic, tokens * whole[j].num_tokens());
    }
  }
  return work;
}

int64_t num_exchanges(const Plan& plan, int64_t ring_steps) {
  int64_t exchanges = 0;
  for (const Wave& wave : plan.waves)
    for (const RingView& ring : split_samples(wave)) {
      const int64_t size = int64_t(ring.members.size());
      exchanges += size * std::min(size - 1, ring_steps);
    }
  return exchanges;
}

}  // namespace zoetrope
