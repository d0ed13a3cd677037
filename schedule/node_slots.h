// The slots of a pool of nodes by the time at which each is free, for rings that lie on as few nodes as they
// can: inside one node, or the same number of slots on each of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/ring_price.h"

namespace zoetrope {

class NodeSlots {
 public:
  /// Slots that are free together from `start` on; none: no place was found.
  struct Place {
    std::vector<int> members;
    int64_t start = 0;
    int64_t length = 0;
    int64_t score = INT64_MAX;  ///< ns that the members wait, and that the ring takes of them
  };

  /// All free at 0.
  NodeSlots(int64_t num_slots, int64_t ranks_per_node);

  /// Takes the slots of a ring at such a place, `length` ns each, that end by `time` and have the least
  /// score, `charge` included, if that is below the score of `best`; the first of equals.
  void find(const RingPlace& where, int64_t length, int64_t charge, int64_t time, Place& best) const;
  /// Sets when slots are free.
  void put(int64_t finish, const std::vector<int>& slots);
  int64_t finish(int slot) const { return finish_[size_t(slot)]; }

 private:
  using Node = std::vector<std::pair<int64_t, int>>;  ///< (finish, slot), ascending
  struct Ask {
    int64_t length, charge, time;
  };

  /// True when a window was found in which nobody waits.
  static bool find_window(const Node& slots, int64_t cp, const Ask& ask, Place& best);
  void find_anywhere(int64_t cp, const Ask& ask, Place& best) const;
  void find_inside(int64_t cp, const Ask& ask, Place& best) const;
  void find_between(int64_t num_nodes, int64_t per_node, const Ask& ask, Place& best) const;

  int64_t ranks_per_node_;
  std::vector<int64_t> finish_;
  std::vector<Node> nodes_;
};

}  // namespace zoetrope
