// Elastic planner, stacked rings: every ring is even, begins when all its ranks are free, and is a wave of
// its own; whole samples go by best fit into the gaps before rings and into the tails.
#include <algorithm>
#include <numeric>
#include <set>

#include "schedule/bound.h"
#include "schedule/elastic.h"
#include "schedule/elastic_blocks.h"

namespace zoetrope {
namespace {

/// Free time of one slot: a gap before a ring, or the tail; whole samples fill it in waves of their own.
struct Bin {
  int slot = 0;
  int64_t room = 0;
  std::vector<int> blocks;
};

class Stack {
 public:
  Stack(const ElasticBatch& batch, int64_t time)
      : batch_(batch),
        time_(time),
        draft_(batch.cluster.num_slots),
        finish_(size_t(batch.cluster.num_slots), 0),
        by_finish_(finish_.size()) {
    std::iota(by_finish_.begin(), by_finish_.end(), 0);
  }

  bool place_all() {
    int64_t i = 0;
    for (; i < batch_.num_samples(); ++i) {
      const bool whole = batch_.tokens[size_t(i)] <= batch_.cluster.tokens_per_slot &&
                         batch_.whole_ns[size_t(i)] + batch_.cost.wave <= time_;
      if (whole) break;
      if (!place_ring(i)) return false;
    }
    for (int slot = 0; slot < int(finish_.size()); ++slot)
      tails_.push_back(open_bin(slot, time_ - finish_[size_t(slot)]));
    for (; i < batch_.num_samples(); ++i)
      if (!place_whole(i) && !split_over_tails(i)) return false;
    return true;
  }

  Plan take_plan(bool merge) {
    if (merge) draft_.merge_waves(batch_);
    return draft_.to_plan(batch_);
  }

 private:
  struct Window {
    int64_t first = -1, cp = 0, start = 0, score = INT64_MAX;
  };

  int64_t ring_ns(int64_t i, int64_t cp) const {
    return batch_.cost.even_ring(batch_.tokens[size_t(i)], cp) + batch_.cost.wave;
  }

  /// Ring size and slots with the least waiting plus work: windows of the slots sorted by finish time.
  Window find_window(int64_t i) const {
    const int64_t num_slots = batch_.cluster.num_slots, tokens = batch_.tokens[size_t(i)];
    const int64_t least = bound_of_sample(batch_.cost, batch_.cluster, tokens, time_ - batch_.cost.wave).cp;
    Window best;
    if (least == 0) return best;
    for (int64_t cp = least; cp <= std::min({2 * least + 2, num_slots, tokens}); ++cp) {
      const int64_t length = ring_ns(i, cp);
      int64_t sum = 0;
      for (int64_t last = 0; last < num_slots; ++last) {
        const int64_t start = finish_[size_t(by_finish_[size_t(last)])];
        sum += start;
        if (last >= cp) sum -= finish_[size_t(by_finish_[size_t(last - cp)])];
        if (last < cp - 1) continue;
        if (start + length > time_) break;
        const int64_t score = cp * start - sum + cp * length;
        if (score < best.score) best = {last - cp + 1, cp, start, score};
      }
    }
    return best;
  }

  bool place_ring(int64_t i) {
    const Window window = find_window(i);
    if (window.first < 0) return false;
    std::vector<int> members(by_finish_.begin() + window.first,
                             by_finish_.begin() + window.first + window.cp);
    for (int slot : members)
      if (window.start > finish_[size_t(slot)]) open_bin(slot, window.start - finish_[size_t(slot)]);
    std::sort(members.begin(), members.end());
    draft_.add_even_ring(members, i, batch_.tokens[size_t(i)]);
    for (int slot : members) finish_[size_t(slot)] = window.start + ring_ns(i, window.cp);
    std::stable_sort(by_finish_.begin(), by_finish_.end(),
                     [&](int a, int b) { return finish_[size_t(a)] < finish_[size_t(b)]; });
    return true;
  }

  int open_bin(int slot, int64_t room) {
    const int index = int(bins_.size());
    bins_.push_back({slot, room, {}});
    draft_.reserve_position(slot, index);
    by_room_.insert({room, index});
    return index;
  }

  /// The bin's first wave with room for the sample; -1: it needs a new one.
  int block_with_room(const Bin& bin, int64_t tokens) const {
    for (int block : bin.blocks)
      if (draft_.fits(batch_, block, tokens)) return block;
    return -1;
  }

  bool place_whole(int64_t i) {
    const int64_t tokens = batch_.tokens[size_t(i)], work = batch_.whole_ns[size_t(i)];
    for (auto at = by_room_.lower_bound({work, 0}); at != by_room_.end(); ++at) {
      const int index = at->second;
      Bin& bin = bins_[size_t(index)];
      int block = block_with_room(bin, tokens);
      const int64_t needed = work + (block < 0 ? batch_.cost.wave : 0);
      if (bin.room < needed) continue;
      if (block < 0) bin.blocks.push_back(block = draft_.open_solo(bin.slot, index));
      draft_.add_whole(block, i, tokens);
      by_room_.erase(at);
      bin.room -= needed;
      by_room_.insert({bin.room, index});
      return true;
    }
    return false;
  }

  /// A sample that fits nowhere whole: an even ring over the slots with the longest tails.
  bool split_over_tails(int64_t i) {
    const int64_t tokens = batch_.tokens[size_t(i)];
    std::vector<int> order = tails_;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return bins_[size_t(a)].room > bins_[size_t(b)].room; });
    for (int64_t cp = 2; cp <= std::min(batch_.cluster.num_slots, tokens); ++cp) {
      const int64_t room = bins_[size_t(order[size_t(cp - 1)])].room, length = ring_ns(i, cp);
      if (length > room || (tokens + cp - 1) / cp > batch_.cluster.tokens_per_slot) continue;
      std::vector<int> members;
      for (int64_t k = 0; k < cp; ++k) {
        const Bin& bin = bins_[size_t(order[size_t(k)])];
        members.push_back(bin.slot);
        by_room_.erase({bin.room, order[size_t(k)]});
      }
      std::sort(members.begin(), members.end());
      draft_.add_even_ring(members, i, tokens);
      for (int slot : members) tails_[size_t(slot)] = open_bin(slot, room - length);
      return true;
    }
    return false;
  }

  const ElasticBatch& batch_;
  int64_t time_;
  BlockDraft draft_;
  std::vector<int64_t> finish_;
  std::vector<int> by_finish_;  // slots, by finish
  std::vector<Bin> bins_;
  std::vector<int> tails_;                     // by slot: its tail's bin
  std::set<std::pair<int64_t, int>> by_room_;  // (room, bin)
};

}  // namespace

std::optional<Plan> plan_stacked(const ElasticBatch& batch, int64_t time, bool merge) {
  Stack stack(batch, time);
  if (!stack.place_all()) return std::nullopt;
  return stack.take_plan(merge);
}

}  // namespace zoetrope
