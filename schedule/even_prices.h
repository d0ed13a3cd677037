// What even rings of a step's samples cost, each size computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fixed_cost.h"

namespace zoetrope {

/// Prices of even rings, each computed when it is first asked for.
class EvenPrices {
 public:
  struct Price {
    int64_t slowest = 0, first = 0;  ///< FixedCost::even_ring and even_shard
  };
  void add_item(int64_t tokens);  ///< the next one; descending
  /// The item split evenly over `cp` slots.
  const Price& of(const FixedCost& cost, int64_t item, int64_t cp);

 private:
  std::vector<int32_t> length_of_;         // by item: index of its length
  std::vector<int64_t> tokens_;            // of distinct lengths
  std::vector<std::vector<Price>> by_cp_;  // of the same; slowest 0: not asked for
};

}  // namespace zoetrope
