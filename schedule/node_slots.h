// The slots of a pool of nodes by the time at which each is free, for rings that lie on as few nodes as they
// can: inside one node, or the same number of slots on each of several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/ring_price.h"

namespace zoetrope {

class NodeSlots {
 public:
  /// Slots that are free together from `start` on, `length` ns each; score INT64_MAX: no place was found.
  struct Place {
    int64_t start = 0, length = 0;
    int64_t score = INT64_MAX;  ///< ns that the members wait, and that the ring takes of them
    RingPlace where;
    int64_t node = -1, first = 0;  ///< where its window of the slots begins
  };

  /// All free at 0.
  NodeSlots(int64_t num_slots, int64_t ranks_per_node);

  /// Takes the place of a ring, `length` ns on each slot, that ends by `time` and has the least score,
  /// `charge` included, if that is below the score of `best`; the first of equals.
  void find(const RingPlace& where, int64_t length, int64_t charge, int64_t time, Place& best);
  /// The slots of a place that was found since the last `put`, ascending.
  void list_members(const Place& place, std::vector<int>& members) const;
  /// Sets when slots, ascending, are free.
  void put(int64_t finish, const std::vector<int>& slots);
  int64_t finish(int slot) const { return finish_[size_t(slot)]; }

 private:
  using Slots = std::vector<std::pair<int64_t, int>>;  ///< (finish, slot), ascending
  /// Slots of a node and when each is free, ascending.
  struct Node {
    const int64_t* finish;
    int64_t count;
  };
  /// A node by when its first slots, so many as the list is of, are free.
  struct Ready {
    int64_t start;
    int node;
    int64_t sum;  ///< of when each of them is
    bool operator<(const Ready& other) const {
      return start != other.start ? start < other.start : node < other.node;
    }
  };
  struct Ask {
    int64_t length, charge, time;
  };

  /// True when a window was found in which nobody waits.
  static bool find_window(const Node& slots, int64_t cp, const Ask& ask, int64_t node, Place& best);
  void find_anywhere(int64_t cp, const Ask& ask, Place& best);
  void find_inside(int64_t cp, const Ask& ask, Place& best);
  void find_between(int64_t num_nodes, int64_t per_node, const Ask& ask, Place& best);
  Node node(size_t index) const {
    const int64_t first = int64_t(index) * ranks_per_node_;
    return {sorted_finish_.data() + first, std::min(ranks_per_node_, int64_t(finish_.size()) - first)};
  }
  Ready ready_of(int node, int64_t per_node) const;
  const std::vector<Ready>& ready(int64_t per_node);
  void move_node(int node, const Slots& changed);

  int64_t ranks_per_node_;
  std::vector<int64_t> finish_;
  std::vector<int64_t> sorted_finish_;  ///< node after node, ascending in each
  std::vector<int> sorted_slot_;        ///< whose these are
  std::vector<size_t> cursor_;  ///< by slots per node: where the last window was found, in large pools
  std::vector<std::vector<Ready>> ready_;  ///< by slots per node, ascending; empty: not asked for yet
  std::vector<Ready> before_;              ///< where a node stood in these lists
  std::vector<int64_t> all_finish_;  ///< of every slot, ascending; empty: not asked for since the last `put`
  std::vector<int> all_slots_;       ///< whose these are
};

}  // namespace zoetrope
