// Slots of a wave by how full they are.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope {

/// Slots by nanoseconds, the emptiest first; equals by number, so that rings of empty slots lie on few nodes.
class SlotHeap {
 public:
  bool empty() const { return size() == 0; }
  int64_t size() const { return int64_t(entries_.size()); }
  int top() const { return entries_[0].slot; }
  void clear() { entries_.clear(); }
  void push(int64_t ns, int slot);  ///< adds a slot
  void pop();                       ///< removes the top slot
  void replace_top(int64_t ns);     ///< the top slot now has so many

 private:
  struct Entry {
    int64_t ns;
    int slot;
  };
  static bool is_before(const Entry& a, const Entry& b) {
    return a.ns < b.ns || (a.ns == b.ns && a.slot < b.slot);
  }
  void sift_down(Entry entry);
  std::vector<Entry> entries_;
};

}  // namespace zoetrope
