// Ring sizes and places that are worth trying for a sample in a pool of nodes, priced once per length.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/bound.h"
#include "schedule/ring_price.h"

namespace zoetrope {

/// An even ring somewhere in a pool, and what its slowest member takes there with the cheapest scheme.
struct PlacedRing {
  RingPlace where;
  int64_t ns = 0;
};

/// Pools of more slots are searched in part: of so many, those that are free first serve.
constexpr int64_t kWindowSlots = 256;

class RingSizes {
 public:
  /// `lengths`: tokens of each sample, descending. Keeps references to all.
  RingSizes(const std::vector<int64_t>& lengths, const FixedCost& cost, const Cluster& cluster);

  /// Least ring size at which sample `index` can end within `time` ns; 0: none.
  int64_t least(int64_t index, int64_t time);
  /// Places of that size and of larger ones up to about twice it.
  const std::vector<PlacedRing>& within(int64_t index, int64_t time);

 private:
  struct Length {
    int64_t tokens;
    int64_t shortest = 0, longest = -1;  ///< at times between them `cp` is the least size
    int64_t cp = 0, listed_cp = 0;
    std::vector<PlacedRing> places;  ///< of `listed_cp`
  };
  int64_t nodes_with(int64_t per_node) const;
  void list(Length& length) const;
  void add_places(Length& length, int64_t cp, bool uneven) const;

  const FixedCost& cost_;
  const Cluster& cluster_;
  std::vector<Length> lengths_;
  std::vector<int> length_of_;  ///< by sample
};

}  // namespace zoetrope
