#include "schedule/slot_heap.h"

#include <cstddef>

namespace zoetrope {

void SlotHeap::push(int64_t ns, int slot) {
  const Entry entry{ns, slot};
  std::size_t at = entries_.size();
  entries_.push_back(entry);
  for (; at > 0 && is_before(entry, entries_[(at - 1) / 2]); at = (at - 1) / 2)
    entries_[at] = entries_[(at - 1) / 2];
  entries_[at] = entry;
}

void SlotHeap::pop() {
  const Entry last = entries_.back();
  entries_.pop_back();
  if (!entries_.empty()) sift_down(last);
}

void SlotHeap::replace_top(int64_t ns) { sift_down({ns, entries_[0].slot}); }

void SlotHeap::sift_down(Entry entry) {
  std::size_t at = 0;
  for (std::size_t child; (child = 2 * at + 1) < entries_.size(); at = child) {
    if (child + 1 < entries_.size() && is_before(entries_[child + 1], entries_[child])) ++child;
    if (!is_before(entries_[child], entry)) break;
    entries_[at] = entries_[child];
  }
  entries_[at] = entry;
}

}  // namespace zoetrope
