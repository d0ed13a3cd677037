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

  int64_t linear, quadratic, transfer, exchange;  ///< 2^-32 ns
  int64_t latency, segment, wave, allreduce;      ///< ns

  /// count coefficients in whole ns, rounded up.
  static int64_t scale_up(int64_t coefficient, int64_t count) {
    return int64_t((static_cast<__int128>(coefficient) * count + 0xffffffff) >> 32);
  }
  /// The same rounded down.
  static int64_t scale_down(int64_t coefficient, int64_t count) {
    return int64_t((static_cast<__int128>(coefficient) * count) >> 32);
  }

  /// Nanoseconds that `tokens` spend on their own and on pairs among themselves, segment overhead included.
  int64_t own(int64_t tokens) const {
    return scale_up(linear, tokens) + scale_up(quadratic, tokens * tokens) + segment;
  }
  /// Nanoseconds for one remote block: attention to it, or its transfer where that takes longer, and what
  /// handling it costs in any case.
  int64_t remote(int64_t tokens, int64_t block) const {
    return std::max(scale_up(quadratic, tokens * block), scale_up(transfer, block) + latency) +
           scale_up(exchange, block);
  }
  /// An unsplit sample.
  int64_t whole(int64_t tokens) const { return own(tokens); }
  /// First member of an even split over `cp` slots: it holds a larger shard where they differ.
  int64_t even_shard(int64_t tokens, int64_t cp) const {
    const int64_t small = tokens / cp, num_large = tokens % cp;
    if (cp == 1) return whole(tokens);
    if (num_large == 0) return own(small) + (cp - 1) * remote(small, small);
    return own(small + 1) + (num_large - 1) * remote(small + 1, small + 1) +
           remote_if(small + 1, small, cp - num_large);
  }
  /// Slowest member of an even split; with slow links that can be a smaller shard, which receives more.
  int64_t even_ring(int64_t tokens, int64_t cp) const {
    const int64_t small = tokens / cp, num_large = tokens % cp;
    const int64_t first = even_shard(tokens, cp);
    if (cp == 1 || num_large == 0 || small == 0) return first;
    return std::max(first, own(small) + num_large * remote(small, small + 1) +
                               (cp - num_large - 1) * remote(small, small));
  }

 private:
  int64_t remote_if(int64_t tokens, int64_t block, int64_t count) const {
    return block == 0 ? 0 : count * remote(tokens, block);
  }
};

/// Nanoseconds of each member of a ring whose members hold `tokens`; equal ones are counted and priced
/// together. Members without tokens take no part, and no time.
std::vector<int64_t> ring_times(const std::vector<int64_t>& tokens, const FixedCost& cost);

}  // namespace zoetrope
