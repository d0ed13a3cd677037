// Slots of a node that its rings leave over, and the small samples that can fill them: the elastic planner's
// reason to take a larger ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zoetrope {

// Note [Holes]
// A ring of 5 leaves 3 slots of a node of 8, a hole in which only samples of at most 3 slots fit. As long as
// the small samples take longer together than the holes, holes cost nothing. From then on a hole is time that
// nobody uses, and the ring is charged for it: a larger size that leaves none may be the cheaper one.

/// Holes that rings leave in nodes, and what there is to fill them.
class Holes {
 public:
  Holes() = default;
  /// `work[w]`: ns of all samples that need w slots, summed over the slots.
  explicit Holes(std::vector<int64_t> work) : left_(std::move(work)) {
    for (size_t width = 1; width < left_.size(); ++width) left_[width] += left_[width - 1];
  }
  /// What a ring pays for leaving one more hole: nothing where it can be filled.
  int64_t charge(int64_t width, int64_t area) const {
    if (width == 0) return 0;
    for (size_t w = size_t(width); w < left_.size(); ++w)
      if (area > left_[w]) return area;
    return 0;
  }
  void leave(int64_t width, int64_t area) {
    if (width == 0) return;
    for (size_t w = size_t(width); w < left_.size(); ++w) left_[w] -= area;
  }

 private:
  std::vector<int64_t> left_;  ///< by width: what fills holes of at most that width, less those holes
};

}  // namespace zoetrope
