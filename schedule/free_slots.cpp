#include "schedule/free_slots.h"

#include <algorithm>

namespace zoetrope {

const std::vector<FreeSlots::Slot>& FreeSlots::first(int64_t count) {
  while (int64_t(front_.size()) < count) {
    if (untouched_ < num_slots_) {
      front_.push_back({0, int(untouched_++)});
      continue;
    }
    if (heap_.empty()) break;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Group group = heap_.back();
    heap_.pop_back();
    for (int64_t i = 0; i < group.count; ++i)
      front_.push_back({group.finish, grouped_[size_t(group.begin + i)]});
  }
  return front_;
}

void FreeSlots::take(int64_t begin, int64_t count, std::vector<Slot>& taken) {
  const auto from = front_.begin() + begin;
  taken.assign(from, from + count);
  front_.erase(from, from + count);
}

void FreeSlots::put(int64_t finish, const std::vector<int>& slots) {
  if (front_.empty() || finish >= front_.back().finish) {
    heap_.push_back({finish, int64_t(grouped_.size()), int64_t(grouped_.size()), int64_t(slots.size())});
    grouped_.insert(grouped_.end(), slots.begin(), slots.end());
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    return;
  }
  const auto after = std::upper_bound(front_.begin(), front_.end(), finish,
                                      [](int64_t time, const Slot& slot) { return time < slot.finish; });
  std::vector<Slot> added;
  for (int slot : slots) added.push_back({finish, slot});
  front_.insert(after, added.begin(), added.end());
}

std::vector<FreeSlots::Slot> FreeSlots::all() const {
  std::vector<Slot> result(static_cast<size_t>(num_slots_));
  for (int64_t slot = 0; slot < num_slots_; ++slot) result[size_t(slot)] = {0, int(slot)};
  for (const Slot& slot : front_) result[size_t(slot.index)].finish = slot.finish;
  for (const Group& group : heap_)
    for (int64_t i = 0; i < group.count; ++i)
      result[size_t(grouped_[size_t(group.begin + i)])].finish = group.finish;
  return result;
}

}  // namespace zoetrope
