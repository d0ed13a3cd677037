#include "schedule/ring_price.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/check.h"

namespace zoetrope {
namespace {

// Note [Schemes]
// A split sample of S tokens on c ranks, all in units of the cost set; `short` tokens are what a block's
// attention costs on top, whatever the scheme, so that an even split costs (1 + short c / S) of the whole
// sample's attention.
//  - A scheme splits heads over u ranks and tokens over blocks B_1, B_2, ...: u = 1 and a block per rank in a
//    ring or an all-gather, u = c and one block in an all-to-all, u = the ranks of a node and a block per
//    node in the hierarchical scheme. A rank of block B computes
//        quadratic B (B + short u) / u  for its own block, and per other block b
//        max(quadratic B (b + short u) / u, transfer b / u + latency)
//    since a ring sends the next block meanwhile. An all-gather sends before it computes: the two add up, but
//    latency counts once.
//  - Heads for tokens and back: all_to_all k (u - 1) / u for the rank's own k tokens, and two latencies
//  inside
//    the node. Nothing hides that.
//  - Every token of other blocks that a rank handles costs `exchange`, as in a ring.
//  - Transfers of a ring over several nodes all go at the pace of its slowest link.

/// How a scheme splits a sample: heads over `heads_over` ranks, and the block of each member.
struct Split {
  int64_t heads_over = 1;
  std::vector<int64_t> blocks;   ///< tokens
  std::vector<size_t> block_of;  ///< by member
};

Split split_of(const FixedCost& cost, Exchange exchange, const RingView& ring) {
  Split split;
  if (exchange == Exchange::kRing || exchange == Exchange::kAllGather) {
    split.blocks = ring.tokens;
    for (size_t i = 0; i < ring.members.size(); ++i) split.block_of.push_back(i);
    return split;
  }
  std::vector<int64_t> nodes;
  for (size_t i = 0; i < ring.members.size(); ++i) {
    const int64_t node = exchange == Exchange::kAllToAll ? 0 : ring.members[i] / cost.ranks_per_node;
    const size_t block = size_t(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
    if (block == nodes.size()) {
      nodes.push_back(node);
      split.blocks.push_back(0);
    }
    split.blocks[block] += ring.tokens[i];
    split.block_of.push_back(block);
  }
  split.heads_over = int64_t(ring.members.size() / nodes.size());
  return split;
}

/// A value and how often it occurs.
struct Count {
  int64_t tokens, number;
};
std::vector<Count> counted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<Count> counts;
  for (int64_t value : values) {
    if (counts.empty() || counts.back().tokens != value) counts.push_back({value, 0});
    ++counts.back().number;
  }
  return counts;
}

/// What members of one block pay for attention and for getting the other blocks.
class BlockPrice {
 public:
  BlockPrice(const FixedCost& cost, Exchange exchange, bool between, int64_t heads_over)
      : cost_(cost),
        exchange_(exchange),
        heads_over_(heads_over),
        transfer_(between ? cost.transfer_between : cost.transfer),
        latency_(between ? cost.latency_between : cost.latency) {}

  int64_t ns(int64_t own, const std::vector<Count>& blocks) const {
    int64_t total = attention(own, own), remote = 0, handling = 0;
    for (const Count& block : blocks) {
      const int64_t number = block.number - (block.tokens == own ? 1 : 0);
      if (number == 0) continue;
      remote += number * block.tokens;
      handling += number * FixedCost::scale_up_ratio(cost_.exchange, block.tokens, heads_over_);
      const int64_t compute = attention(own, block.tokens);
      total +=
          number *
          (exchange_ == Exchange::kAllGather ? compute : std::max(compute, sending(block.tokens) + latency_));
    }
    if (exchange_ == Exchange::kAllGather && remote > 0) total += sending(remote) + latency_;
    return total + handling;
  }

 private:
  int64_t attention(int64_t own, int64_t block) const {
    return FixedCost::scale_up_ratio(
        cost_.quadratic, static_cast<__int128>(own) * (block + cost_.short_block * heads_over_), heads_over_);
  }
  int64_t sending(int64_t tokens) const { return FixedCost::scale_up_ratio(transfer_, tokens, heads_over_); }

  const FixedCost& cost_;
  Exchange exchange_;
  int64_t heads_over_, transfer_, latency_;
};

/// What a member pays for its own tokens alone.
int64_t token_ns(const FixedCost& cost, int64_t tokens, int64_t heads_over) {
  int64_t total = cost.segment + FixedCost::scale_up(cost.linear, tokens);
  if (heads_over > 1)
    total += FixedCost::scale_up_ratio(cost.all_to_all, static_cast<__int128>(tokens) * (heads_over - 1),
                                       heads_over) +
             2 * cost.latency;
  return total;
}

constexpr Exchange kAll[] = {Exchange::kRing, Exchange::kAllGather, Exchange::kAllToAll,
                             Exchange::kHierarchical};

}  // namespace

RingPlace place_of(const std::vector<int>& members, int64_t ranks_per_node) {
  std::vector<int64_t> nodes;
  nodes.reserve(members.size());
  for (int member : members) nodes.push_back(member / ranks_per_node);
  const std::vector<Count> counts = counted(std::move(nodes));
  const bool even = std::all_of(counts.begin(), counts.end(),
                                [&](const Count& node) { return node.number == counts[0].number; });
  return {int64_t(members.size()), int64_t(counts.size()), even ? counts[0].number : 0};
}

std::vector<RingPlace> places_of(int64_t cp, int64_t ranks_per_node) {
  const int64_t fewest = (cp + ranks_per_node - 1) / ranks_per_node;
  if (fewest == 1) return {{cp, 1, cp}};
  std::vector<RingPlace> places;
  for (int64_t nodes = fewest; nodes <= 4 * fewest; ++nodes)
    if (cp % nodes == 0) places.push_back({cp, nodes, cp / nodes});
  if (cp % fewest != 0) places.push_back({cp, fewest, 0});
  return places;
}

RingPlace cheapest_place(const FixedCost& cost, int64_t tokens, int64_t cp) {
  RingPlace best;
  int64_t least = INT64_MAX;
  for (const RingPlace& place : places_of(cp, cost.ranks_per_node))
    if (const int64_t ns = even_ring_price(cost, tokens, place).ns; ns < least) least = ns, best = place;
  return best;
}

FixedCost::Even FixedCost::even_scheme(int64_t tokens, int64_t cp) const {
  const RingPrice price = even_ring_price(*this, tokens, cheapest_place(*this, tokens, cp));
  return {price.ns, price.first_ns};
}

bool can_exchange(const FixedCost& cost, Exchange exchange, const RingPlace& place) {
  const auto can_split_heads = [&](int64_t over) {
    return over > 1 && cost.num_heads >= over && cost.num_heads % over == 0;
  };
  switch (exchange) {
    case Exchange::kRing: return true;
    case Exchange::kAllGather: return cost.num_heads > 0;
    case Exchange::kAllToAll: return place.num_nodes == 1 && can_split_heads(place.num_members);
    case Exchange::kHierarchical: return place.num_nodes > 1 && can_split_heads(place.per_node);
  }
  return false;
}

std::vector<int64_t> ring_times(const std::vector<int64_t>& tokens, const FixedCost& cost, bool between) {
  struct Size {
    int64_t tokens, count, time;
  };
  std::vector<Size> sizes;
  std::vector<size_t> size_of(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto same =
        std::find_if(sizes.begin(), sizes.end(), [&](const Size& size) { return size.tokens == tokens[i]; });
    size_of[i] = size_t(same - sizes.begin());
    if (same == sizes.end()) sizes.push_back({tokens[i], 1, 0});
    else ++same->count;
  }
  for (Size& size : sizes) {
    if (size.tokens == 0) continue;
    size.time = cost.own(size.tokens) - cost.remote(size.tokens, size.tokens, between);
    for (const Size& other : sizes)
      if (other.tokens > 0) size.time += other.count * cost.remote(size.tokens, other.tokens, between);
  }
  std::vector<int64_t> times(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) times[i] = sizes[size_of[i]].time;
  return times;
}

std::vector<int64_t> ring_ns(const FixedCost& cost, Exchange exchange, const RingView& ring) {
  const RingPlace place = place_of(ring.members, cost.ranks_per_node);
  ZT_CHECK(can_exchange(cost, exchange, place), "sample ", ring.sample, ": ", name_of(exchange), " on ",
           place.num_members, " ranks of ", place.num_nodes, " nodes can't be");
  if (exchange == Exchange::kRing) return ring_times(ring.tokens, cost, place.num_nodes > 1);
  const Split split = split_of(cost, exchange, ring);
  const BlockPrice price(cost, exchange, place.num_nodes > 1, split.heads_over);
  const std::vector<Count> counts = counted(split.blocks);
  std::vector<int64_t> result;
  int64_t last_block = -1, last_ns = 0;
  for (size_t i = 0; i < ring.members.size(); ++i) {
    const int64_t block = split.blocks[split.block_of[i]];
    if (block != last_block) last_ns = price.ns(block, counts), last_block = block;
    result.push_back(token_ns(cost, ring.tokens[i], split.heads_over) + last_ns);
  }
  return result;
}

RingPrice cheapest_exchange(const FixedCost& cost, const RingView& ring) {
  const RingPlace place = place_of(ring.members, cost.ranks_per_node);
  RingPrice best{Exchange::kRing, INT64_MAX, 0};
  for (const Exchange exchange : kAll) {
    if (!can_exchange(cost, exchange, place)) continue;
    const std::vector<int64_t> times = ring_ns(cost, exchange, ring);
    const int64_t slowest = *std::max_element(times.begin(), times.end());
    if (slowest < best.ns) best = {exchange, slowest, times[0]};
  }
  return best;
}

RingPrice even_ring_price(const FixedCost& cost, int64_t tokens, const RingPlace& place) {
  if (place.num_members == 1) return {Exchange::kRing, cost.whole(tokens), cost.whole(tokens)};
  RingPrice best{Exchange::kRing, INT64_MAX, 0};
  const int64_t cp = place.num_members, small = tokens / cp, num_large = tokens % cp;
  for (const Exchange exchange : kAll) {
    if (!can_exchange(cost, exchange, place)) continue;
    const int64_t over = exchange == Exchange::kAllToAll       ? cp
                         : exchange == Exchange::kHierarchical ? place.per_node
                                                               : 1;
    // Members in order hold the larger shards first, so blocks of `over` members are full of them first.
    std::vector<Count> blocks;
    const int64_t full = num_large / over, mixed = num_large % over, num_blocks = cp / over;
    if (full > 0) blocks.push_back({(small + 1) * over, full});
    if (mixed > 0) blocks.push_back({small * over + mixed, 1});
    if (num_blocks > full + (mixed > 0)) blocks.push_back({small * over, num_blocks - full - (mixed > 0)});
    const BlockPrice price(cost, exchange, place.num_nodes > 1, over);
    int64_t slowest = 0, first = 0;
    for (const Count& block : blocks) {
      if (block.tokens == 0) continue;
      const int64_t largest_shard = (block.tokens + over - 1) / over;
      const int64_t ns = token_ns(cost, largest_shard, over) + price.ns(block.tokens, blocks);
      if (first == 0) first = ns;
      slowest = std::max(slowest, ns);
    }
    if (slowest < best.ns) best = {exchange, slowest, first};
  }
  return best;
}

namespace {

/// Cheapest schemes of even rings, which planners make many of with the same lengths and places.
class SchemeOfEvenRings {
 public:
  explicit SchemeOfEvenRings(const FixedCost& cost) : cost_(cost) {}

  Exchange cheapest(const RingView& ring) {
    const RingPlace place = place_of(ring.members, cost_.ranks_per_node);
    int64_t tokens = 0;
    for (int64_t each : ring.tokens) tokens += each;
    const int64_t cp = int64_t(ring.members.size());
    // A scheme with blocks of several ranks has the same ones only if its members lie node by node.
    const bool in_order = place.num_nodes == 1 || std::is_sorted(ring.members.begin(), ring.members.end());
    for (int64_t i = 0; i < cp; ++i)
      if (!in_order || ring.tokens[size_t(i)] != tokens / cp + (i < tokens % cp ? 1 : 0))
        return cheapest_exchange(cost_, ring).exchange;
    const std::array<int64_t, 4> key{tokens, place.num_members, place.num_nodes, place.per_node};
    const auto [at, is_new] = found_.try_emplace(key);
    if (is_new) at->second = even_ring_price(cost_, tokens, place).exchange;
    return at->second;
  }

 private:
  const FixedCost& cost_;
  std::map<std::array<int64_t, 4>, Exchange> found_;
};

}  // namespace

void choose_exchanges(Plan& plan, const FixedCost& cost) {
  if (cost.num_heads == 0) return;  // rings only
  SchemeOfEvenRings schemes(cost);
  for (Wave& wave : plan.waves) {
    if (wave.rings.empty()) continue;
    const std::vector<RingView> views = split_samples(wave);
    for (size_t i = 0; i < views.size(); ++i) wave.rings[i].exchange = schemes.cheapest(views[i]);
  }
}

}  // namespace zoetrope
