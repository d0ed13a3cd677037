// The dual bound's part for one sample: the least ranks and the least work of every exchange scheme.
#include <algorithm>
#include <cmath>

#include "schedule/bound.h"

namespace zoetrope {
namespace {

// Note [Least shares]
// c ranks, shards k_1 + ... + k_c = S, all costs rounded down.
//  - Ring: a member costs at least h(k, c) = segment + linear k + exchange (S - k)
//    + max(quadratic k (S + short c), quadratic k (k + short) + transfer (S - k) + latency (c - 1)),
//    since the sum of max(attention, transfer) over remote blocks is at least the larger sum. Inside a node
//    c <= ranks per node; a larger ring has links between nodes, which are never faster.
//  - All-gather: the second part of h without max: quadratic k (S + short c) + transfer (S - k) + latency.
//  Both are convex in k (a maximum of convex functions), so shards that end within a time are an interval; u
//  is its end for c, at most the cap and S - 1, and c >= S / u. A larger c only raises h: start from c = 2
//  and repeat with the c found. Summed over members even shards cost least (Jensen):
//    W(c) = c segment + linear S + exchange S (c - 1) + max(quadratic S (S + short c),
//           quadratic (S S / c + short S) + transfer S (c - 1) + latency c (c - 1)),
//  which never falls with c: from the c on where the second part is the larger one its derivative is
//  positive.
//  - Heads over u ranks of each of r nodes, c = u r (r = 1: all-to-all), blocks K_1 + ... + K_r = S:
//    W(u, r) = c segment + linear S + exchange S (r - 1) + 2 latency c + all_to_all S (u - 1) / u
//              + max(quadratic S (S + short c), quadratic (S S / r + short u S) + transfer_between S (r - 1)
//              + latency_between (r - 1) c),
//    by the same two arguments with blocks for shards. The slowest member takes at least W / c. For a given u
//    the least r that fits has the least work.

int64_t work_of_ring(const FixedCost& cost, int64_t tokens, const RingClass& kind, int64_t cp) {
  const auto scaled = [](int64_t coefficient, __int128 count) {
    return int64_t((coefficient * count) >> 32);
  };
  const __int128 S = tokens;
  const int64_t hidden = scaled(cost.quadratic, S * (tokens + cost.short_block * cp));
  const int64_t sending = scaled(kind.transfer, S * (cp - 1));
  const int64_t attention =
      kind.gathers ? hidden + sending + kind.latency * cp
                   : std::max(hidden, scaled(cost.quadratic, S * tokens / cp + S * cost.short_block) +
                                          sending + kind.latency * cp * (cp - 1));
  return cp * cost.segment + scaled(cost.linear, S) + scaled(cost.exchange, S * (cp - 1)) + attention;
}

int64_t work_of_heads(const FixedCost& cost, int64_t tokens, int64_t over, int64_t nodes) {
  const auto scaled = [](int64_t coefficient, __int128 count) {
    return int64_t((coefficient * count) >> 32);
  };
  const __int128 S = tokens;
  const int64_t cp = over * nodes;
  const int64_t hidden = scaled(cost.quadratic, S * (tokens + cost.short_block * cp));
  const int64_t exposed = scaled(cost.quadratic, S * tokens / nodes + S * cost.short_block * over) +
                          scaled(cost.transfer_between, S * (nodes - 1)) +
                          cost.latency_between * (nodes - 1) * cp;
  return cp * cost.segment + scaled(cost.linear, S) + scaled(cost.exchange, S * (nodes - 1)) +
         2 * cost.latency * cp + scaled(cost.all_to_all, S * (over - 1) / over) +
         (nodes == 1 ? hidden : std::max(hidden, exposed));
}

/// Nodes of a pool that have so many slots.
int64_t nodes_with(const FixedCost& cost, int64_t num_slots, int64_t per_node) {
  const bool rest_serves = num_slots % cost.ranks_per_node >= per_node;  // the last node's slots
  return num_slots / cost.ranks_per_node + (rest_serves ? 1 : 0);
}

/// Collects what schemes need at least.
struct Least {
  SampleBound found;
  void offer(int64_t cp, int64_t work) {
    found.cp = found.cp == 0 ? cp : std::min(found.cp, cp);
    found.work = found.work == 0 ? work : std::min(found.work, work);
  }
};

void offer_ring(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time,
                const RingClass& kind, Least& least) {
  const int64_t most = std::min(cluster.tokens_per_slot, tokens - 1);
  int64_t cp = kind.least_cp;
  while (true) {
    const int64_t shard = largest_shard(cost, tokens, most, time, kind, cp);
    if (shard < 1) return;
    const int64_t needed = std::max(cp, (tokens + shard - 1) / shard);
    if (needed > kind.most_cp) return;
    if (needed == cp) break;
    cp = needed;
    if (kind.latency == 0 && cost.short_block == 0) break;  // shards don't shrink with the ring
  }
  least.offer(cp, work_of_ring(cost, tokens, kind, cp));
}

void offer_heads(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time, int64_t over,
                 Least& least) {
  const int64_t by_cap = (tokens + cluster.tokens_per_slot * over - 1) / (cluster.tokens_per_slot * over);
  const int64_t most = nodes_with(cost, cluster.num_slots, over);
  for (int64_t nodes = std::max<int64_t>(1, by_cap); nodes <= most && over * nodes <= tokens; ++nodes) {
    const int64_t work = work_of_heads(cost, tokens, over, nodes);
    if (work / (over * nodes) > time) continue;
    least.offer(over * nodes, work);
    return;
  }
}

}  // namespace

SampleBound bound_of_split(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time) {
  Least least;
  const int64_t most = std::min(cluster.num_slots, tokens), inside = std::min(most, cost.ranks_per_node);
  const bool one_node =
      inside == most || (cost.transfer_between == cost.transfer && cost.latency_between == cost.latency);
  for (const bool gathers : {false, true}) {
    if (gathers && cost.num_heads == 0) break;
    if (inside >= 2 || one_node)
      offer_ring(cost, cluster, tokens, time,
                 {cost.transfer, cost.latency, 2, one_node ? most : inside, gathers}, least);
    if (!one_node)
      offer_ring(
          cost, cluster, tokens, time,
          {cost.transfer_between, cost.latency_between, std::max<int64_t>(2, inside + 1), most, gathers},
          least);
  }
  for (int64_t over = 2; over <= inside && over <= cost.num_heads; ++over)
    if (cost.num_heads % over == 0) offer_heads(cost, cluster, tokens, time, over, least);
  return least.found;
}

int64_t least_split_work(const FixedCost& cost, int64_t tokens, int64_t cp, int64_t num_slots) {
  const bool between = cp > cost.ranks_per_node;
  RingClass kind{between ? cost.transfer_between : cost.transfer,
                 between ? cost.latency_between : cost.latency, cp, cp};
  int64_t least = work_of_ring(cost, tokens, kind, cp);
  if (cost.num_heads == 0) return least;
  kind.gathers = true;
  least = std::min(least, work_of_ring(cost, tokens, kind, cp));
  for (int64_t over = 2; over <= std::min({cp, cost.ranks_per_node, cost.num_heads}); ++over)
    if (cp % over == 0 && cost.num_heads % over == 0 && cp / over <= nodes_with(cost, num_slots, over))
      least = std::min(least, work_of_heads(cost, tokens, over, cp / over));
  return least;
}

int64_t largest_shard(const FixedCost& cost, int64_t tokens, int64_t most, int64_t time,
                      const RingClass& kind, int64_t cp) {
  if (most < 1) return 0;
  const int64_t waiting = kind.latency * (kind.gathers ? 1 : cp - 1);
  const int64_t all = tokens + cost.short_block * cp;
  const auto least_ns = [&](int64_t k) {
    const int64_t hidden = FixedCost::scale_down(cost.quadratic, k * all);
    const int64_t sending = FixedCost::scale_down(kind.transfer, tokens - k) + waiting;
    const int64_t attention =
        kind.gathers
            ? hidden + sending
            : std::max(hidden, FixedCost::scale_down(cost.quadratic, k * (k + cost.short_block)) + sending);
    return cost.segment + FixedCost::scale_down(cost.linear, k) +
           FixedCost::scale_down(cost.exchange, tokens - k) + attention;
  };
  if (least_ns(most) <= time) return most;
  // Upper roots of the parts in floating point, then the exact end of the interval by steps both ways: the
  // result does not depend on the last bits of the roots.
  const double q = double(cost.quadratic) * 0x1p-32, l = double(cost.linear) * 0x1p-32,
               t = double(kind.transfer) * 0x1p-32, e = double(cost.exchange) * 0x1p-32,
               left = double(time - cost.segment) - e * double(tokens);
  const double sending = t * double(tokens) + double(waiting);
  // Attention to all blocks, then the ring's own block with what it waits for.
  const double per_token = l - e + q * double(all) - (kind.gathers ? t : 0);
  const double room = left - (kind.gathers ? sending : 0);
  double end = double(most);
  if (per_token > 0) end = room / per_token;  // else it falls with k: no upper end
  if (!kind.gathers) {
    const double constant = sending - left, slope = l - e - t + q * double(cost.short_block),
                 root = std::max(0.0, slope * slope - 4 * q * constant);
    if (q > 0) end = std::min(end, (-slope + std::sqrt(root)) / (2 * q));
    else if (slope > 0) end = std::min(end, -constant / slope);
  }
  int64_t k = int64_t(std::clamp(end + 2, 0.0, double(most)));
  constexpr int64_t kRounding = 4;  // ns by which a sum of terms, each rounded, can err
  while (k > 0 && least_ns(k) > time) {
    if (least_ns(k - 1) > least_ns(k) + kRounding) return 0;  // below the lowest point: there is no interval
    --k;
  }
  while (k > 0 && k < most && least_ns(k + 1) <= time) ++k;
  return k;
}

}  // namespace zoetrope
