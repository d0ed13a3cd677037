// The order in which a stack places its rings, learned from attempts that failed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace zoetrope {

// Note [Promoted rings]
// The longest sample first is a good order, but in a pool of nodes late rings may find only slots of
// different nodes, or none that are free together. So after an attempt the rings that found no place, or one
// that wastes time, move up for the next, in proportion to what they wasted: what fits badly is placed while
// there is room. Source: Joslin and Clements, "Squeaky wheel" optimization, JAIR 10 (1999).

/// What became of all samples in an attempt.
struct RingTally {
  std::vector<int64_t> rings;  ///< those that found no place
  int64_t missing_ns = 0;      ///< least work of all samples that found none
  int64_t waste_ns = 0;        ///< of the rings that did: what they take and wait for beyond theirs
};

class RingOrder {
 public:
  /// Samples by their rank in the batch.
  explicit RingOrder(int64_t num_samples);

  const std::vector<int64_t>& items() const { return items_; }
  /// Moves a sample to another place in the order.
  void move(int64_t from, int64_t to);
  /// If there is one attempts place what they can, and count what they can't.
  std::optional<RingTally> tally;

  /// What an attempt made of a ring: `waste_ns` more than `least_ns`, its least work anywhere.
  void placed(int64_t item, int64_t waste_ns, int64_t least_ns);
  void found_no_place(int64_t item);
  /// Forgets what the last attempt made of the rings.
  void keep();
  /// Moves the rings up that the last attempt placed badly.
  void promote();

 private:
  std::vector<int64_t> items_;
  std::vector<int64_t> position_;  ///< by item, in 1/1024
  std::vector<int64_t> blame_;     ///< by item, 0 to 1024; kNoPlace
};

}  // namespace zoetrope
