// The cost model in fixed point: what planners and simulator compute with, so that every rank gets the same
// nanoseconds whatever its compiler does with floating point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedule/cost.h"

namespace zoetrope {

/// Coefficients in units of 2^-32 ns. Shard times round up per term, bounds round down, so that a bound never
/// exceeds a plan by rounding.
struct FixedCost {
  /// Throws: Error naming the coefficient unless each is finite, >= 0 and below 2^30 ns.
  explicit FixedCost(const CostModel& cost);

  int64_t linear, quadratic, transfer, exchange;                          ///< 2^-32 ns
  int64_t transfer_between, all_to_all;                                   ///< 2^-32 ns
  int64_t latency, latency_between, segment, wave, allreduce, optimizer;  ///< ns
  int64_t short_block, num_heads, ranks_per_node;

  /// count coefficients in whole ns, rounded up.
  static int64_t scale_up(int64_t coefficient, int64_t count) {
    return int64_t((static_cast<__int128>(coefficient) * count + 0xffffffff) >> 32);
  }
  /// The same rounded down.
  static int64_t scale_down(int64_t coefficient, int64_t count) {
    return int64_t((static_cast<__int128>(coefficient) * count) >> 32);
  }

  /// numerator / denominator coefficients in whole ns, rounded up.
  static int64_t scale_up_ratio(int64_t coefficient, __int128 numerator, int64_t denominator) {
    if (denominator == 1) return int64_t((coefficient * numerator + 0xffffffff) >> 32);
    const __int128 unit = static_cast<__int128>(denominator) << 32;
    return int64_t((coefficient * numerator + unit - 1) / unit);
  }

  /// True when it matters on which nodes a ring of a pool lies.
  bool has_nodes(int64_t num_slots) const {
    return ranks_per_node < num_slots &&
           (num_heads > 0 || transfer_between != transfer || latency_between != latency);
  }

  /// An unsplit sample, segment overhead included.
  int64_t whole(int64_t tokens) const {
    return scale_up(linear, tokens) + scale_up(quadratic, tokens * tokens) + segment;
  }
  /// What a ring's member spends on its own shard, segment overhead included.
  int64_t own(int64_t tokens) const {
    return scale_up(linear, tokens) + scale_up(quadratic, tokens * (tokens + short_block)) + segment;
  }
  /// A ring's member and one remote block: attention to it, or its transfer where that takes longer, and what
  /// handling it costs in any case. `between`: the ring's ranks lie on several nodes.
  int64_t remote(int64_t tokens, int64_t block, bool between = false) const {
    return std::max(scale_up(quadratic, tokens * (block + short_block)),
                    between ? scale_up(transfer_between, block) + latency_between
                            : scale_up(transfer, block) + latency) +
           scale_up(exchange, block);
  }

  /// Slowest member of an even split over `cp` slots, at the place and with the scheme that are cheapest.
  int64_t even_ring(int64_t tokens, int64_t cp) const {
    cp = std::min(cp, tokens);  // the others hold nothing
    if (cp == 1) return whole(tokens);
    if (num_heads > 0) return even_scheme(tokens, cp).slowest;
    const int64_t small = tokens / cp, num_large = tokens % cp;
    if (num_large == 0) return own(small) + (cp - 1) * remote(small, small, cp > ranks_per_node);
    return std::max(first_of(small + 1, num_large, small, cp - num_large),
                    first_of(small, cp - num_large, small + 1, num_large));
  }
  /// The first member of that split: it holds a larger shard where they differ.
  int64_t even_shard(int64_t tokens, int64_t cp) const {
    cp = std::min(cp, tokens);  // the others hold nothing
    if (cp == 1) return whole(tokens);
    if (num_heads > 0) return even_scheme(tokens, cp).first;
    const int64_t small = tokens / cp, num_large = tokens % cp;
    return num_large == 0 ? own(small) + (cp - 1) * remote(small, small, cp > ranks_per_node)
                          : first_of(small + 1, num_large, small, cp - num_large);
  }

 private:
  struct Even {
    int64_t slowest, first;
  };
  Even even_scheme(int64_t tokens, int64_t cp) const;  // ring_price.cpp
  /// A member with `count` blocks like its own, itself included, and `other_count` of another size.
  int64_t first_of(int64_t tokens, int64_t count, int64_t other, int64_t other_count) const {
    const bool between = count + other_count > ranks_per_node;
    return own(tokens) + (count - 1) * remote(tokens, tokens, between) +
           other_count * remote(tokens, other, between);
  }
};

/// Nanoseconds of each member of a ring whose members hold `tokens`; equal ones are counted and priced
/// together. Members without tokens take no part, and no time. `between`: they lie on several nodes.
std::vector<int64_t> ring_times(const std::vector<int64_t>& tokens, const FixedCost& cost,
                                bool between = false);

}  // namespace zoetrope
