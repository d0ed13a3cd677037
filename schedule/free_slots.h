// The slots of a pool by the time at which each is free: the first of them in one sorted list, the rest in a
// heap of groups, since a ring's slots are free together.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope {

class FreeSlots {
 public:
  struct Slot {
    int64_t finish = 0;
    int index = 0;
  };
  /// All free at 0.
  explicit FreeSlots(int64_t num_slots) : num_slots_(num_slots) {}

  /// At least the `count` slots that are free first (all, if there are fewer), ascending by finish.
  const std::vector<Slot>& first(int64_t count);
  /// Takes `count` slots from `begin` on out of that list.
  void take(int64_t begin, int64_t count, std::vector<Slot>& taken);
  /// Puts slots that were taken back, free at `finish`.
  void put(int64_t finish, const std::vector<int>& slots);
  /// Every slot, ascending by index.
  std::vector<Slot> all() const;

 private:
  struct Group {
    int64_t finish;
    int64_t order;  ///< ties: the older one first
    int64_t begin, count;
    bool operator>(const Group& other) const {
      return finish != other.finish ? finish > other.finish : order > other.order;
    }
  };

  int64_t num_slots_;
  int64_t untouched_ = 0;  ///< slots from here on were never in the list, and are free at 0
  std::vector<Slot> front_;
  std::vector<Group> heap_;
  std::vector<int> grouped_;  ///< slots of the groups
};

}  // namespace zoetrope
