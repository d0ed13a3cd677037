// Elastic planner, stacked rings: every ring is even, begins when all its ranks are free, and is a wave of
// its own; whole samples go by best fit into the gaps before rings and into the tails.
#include "schedule/elastic_stack.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/bound.h"
#include "schedule/free_slots.h"
#include "schedule/node_holes.h"
#include "schedule/node_slots.h"

namespace zoetrope {
namespace {

constexpr int kMostTooSmall = 16;  // bins passed over that lack room for the overhead of a new wave

class Stack {
 public:
  Stack(const ElasticBatch& batch, RingSizes& ring_sizes, int64_t time, const StackStyle& style,
        RingOrder* order)
      : batch_(batch),
        ring_sizes_(ring_sizes),
        time_(time),
        style_(style),
        order_(order),
        draft_(batch),
        slots_(batch.cluster.num_slots) {
    if (batch.has_places()) {
      nodes_.emplace(batch.cluster.num_slots, batch.cost.ranks_per_node);
      if (style.fills_holes) holes_ = find_fillers();
    }
  }

  bool place_all() {
    int64_t num_rings = 0;
    while (num_rings < batch_.num_samples() && !is_whole(num_rings)) ++num_rings;
    if (counts()) order_->tally.emplace();
    return place_rings(num_rings) && open_tails(num_rings) && place_wholes(num_rings) &&
           (!counts() || order_->tally->missing_ns == 0);
  }

  BlockDraft& draft() { return draft_; }

 private:
  struct Window {
    int64_t first = -1, cp = 0, start = 0, score = INT64_MAX;
  };
  /// Ring sizes worth trying for samples of one length, with what each takes.
  struct Sizes {
    int64_t tokens = 0;
    std::vector<std::pair<int64_t, int64_t>> tried;  ///< (ring size, ns)
  };

  bool place_rings(int64_t num_rings) {
    if (!order_ || !nodes_) {
      for (int64_t i = 0; i < num_rings; ++i)
        if (!place_ring(i)) return false;
      return true;
    }
    for (int64_t i : order_->items()) {
      if (i >= num_rings || place_ring(i)) continue;
      order_->found_no_place(i);
      if (!goes_on_without(least_ns(i))) return false;
      order_->tally->rings.push_back(i);
    }
    return true;
  }
  bool counts() const { return order_ && order_->tally; }
  /// Counts what found no place, if that is no reason to stop.
  bool goes_on_without(int64_t ns) {
    if (counts()) order_->tally->missing_ns += std::max<int64_t>(1, ns);
    return counts();
  }
  int64_t least_ns(int64_t i) const {
    return bound_of_split(batch_.cost, batch_.cluster, batch_.tokens[size_t(i)], time_ - batch_.cost.wave)
        .work;
  }
  void tell_order(int64_t i, int64_t score) {
    const int64_t least = least_ns(i);
    if (counts()) order_->tally->waste_ns += score - least;
    else order_->placed(i, score - least, least);
  }

  bool is_whole(int64_t i) const {
    return batch_.tokens[size_t(i)] <= batch_.cluster.tokens_per_slot &&
           batch_.whole_ns[size_t(i)] + batch_.cost.wave <= time_;
  }
  int64_t ring_ns(int64_t i, int64_t cp) const {
    return batch_.cost.even_ring(batch_.tokens[size_t(i)], cp) + batch_.cost.wave;
  }

  void set_sizes(int64_t i) {
    const int64_t tokens = batch_.tokens[size_t(i)];
    if (sizes_.tokens == tokens) return;
    sizes_ = {tokens, {}};
    const int64_t least = bound_of_sample(batch_.cost, batch_.cluster, tokens, time_ - batch_.cost.wave).cp;
    if (least == 0) return;
    const int64_t most = std::min({2 * least + 2, batch_.cluster.num_slots, tokens});
    for (int64_t cp = least; cp <= most; cp += 1 + least / 16) sizes_.tried.emplace_back(cp, ring_ns(i, cp));
  }

  /// True when a ring lies on blocks of the style's slots, or on such a part of one that others fit beside.
  bool in_blocks(const RingPlace& place) const {
    if (style_.block <= 1) return true;
    if (place.num_nodes > 1 && place.per_node > 0) return place.per_node % style_.block == 0;
    return place.num_members % style_.block == 0 || style_.block % place.num_members == 0;
  }

  /// Ring size and slots with the least waiting plus work: windows of the slots by finish time.
  Window find_window() {
    Window best;
    if (sizes_.tried.empty()) return best;
    const std::vector<FreeSlots::Slot>& first =
        slots_.first(std::max(kWindowSlots, 2 * sizes_.tried.back().first));
    for (const auto& [cp, length] : sizes_.tried) {
      if (cp * length >= best.score) continue;
      int64_t sum = 0;
      for (int64_t last = 0; last < int64_t(first.size()); ++last) {
        const int64_t start = first[size_t(last)].finish;
        sum += start;
        if (last >= cp) sum -= first[size_t(last - cp)].finish;
        if (last < cp - 1) continue;
        if (start + length > time_) break;
        const int64_t waiting = cp * start - sum, score = waiting + cp * length;
        if (score < best.score) best = {last - cp + 1, cp, start, score};
        if (waiting == 0) break;
      }
    }
    return best;
  }

  /// The same where links between nodes are slower, or schemes need ranks of one node.
  bool place_ring_on_nodes(int64_t i) {
    NodeSlots::Place best;
    int64_t hole = 0, area = 0;
    for (const PlacedRing& ring : ring_sizes_.within(i, time_ - batch_.cost.wave)) {
      if (!in_blocks(ring.where)) continue;
      const int64_t length = ring.ns + batch_.cost.wave, before = best.score;
      const int64_t width = style_.fills_holes ? hole_of(ring.where) : 0;
      const int64_t left = ring.where.num_nodes * width * length;
      nodes_->find(ring.where, length, holes_.charge(width, left), time_, best);
      if (best.score < before) hole = width, area = left;
    }
    if (best.score == INT64_MAX) return false;
    if (order_) tell_order(i, best.score);
    holes_.leave(hole, area);
    nodes_->list_members(best, members_);
    for (int slot : members_) open_bin(slot, best.start - nodes_->finish(slot));
    draft_.add_even_ring(members_, i);
    nodes_->put(best.start + best.length, members_);
    return true;
  }

  bool place_ring(int64_t i) {
    if (nodes_) return place_ring_on_nodes(i);
    set_sizes(i);
    const Window window = find_window();
    if (window.first < 0) return false;
    slots_.take(window.first, window.cp, taken_);
    members_.clear();
    for (const FreeSlots::Slot& slot : taken_) {
      open_bin(slot.index, window.start - slot.finish);
      members_.push_back(slot.index);
    }
    std::sort(members_.begin(), members_.end());
    draft_.add_even_ring(members_, i);
    slots_.put(window.start + ring_ns(i, window.cp), members_);
    return true;
  }

  /// Slots of a node that are too few for another ring like one that has so many of them.
  int64_t hole_of(const RingPlace& where) const {
    const int64_t per_node = (where.num_members + where.num_nodes - 1) / where.num_nodes;
    return 2 * per_node < batch_.cost.ranks_per_node ? 0 : batch_.cost.ranks_per_node % per_node;
  }
  /// What samples that need no more than some slots of a node take at least.
  Holes find_fillers() {
    const int64_t per_node = batch_.cost.ranks_per_node;
    std::vector<int64_t> work(size_t(per_node), 0);
    for (int64_t i = 0; i < batch_.num_samples(); ++i) {
      const int64_t cp = ring_sizes_.least(i, time_ - batch_.cost.wave), tokens = batch_.tokens[size_t(i)];
      if (cp > 0 && cp < per_node)
        work[size_t(cp)] += cp == 1 ? batch_.whole_ns[size_t(i)] : least_split_work(batch_.cost, tokens, cp);
    }
    return Holes(std::move(work));
  }

  /// Room for whole samples in the draft's next place on the slot, unless the shortest does not fit. Returns
  /// the bin's index, or -1.
  int open_bin(int slot, int64_t room) {
    if (room < batch_.whole_ns.back() + batch_.cost.wave) return -1;
    const int bin = draft_.open_bin(slot);
    rooms_.push_back(room);
    slot_of_.push_back(slot);
    is_tail_.push_back(false);
    return bin;
  }

  /// The rest of each slot; false when all room together is too small for the samples from `first_whole` on.
  bool open_tails(int64_t first_whole) {
    const auto open_tail = [&](int slot, int64_t finish) {
      if (const int bin = open_bin(slot, time_ - finish); bin >= 0) is_tail_[size_t(bin)] = true;
    };
    if (nodes_)
      for (int slot = 0; slot < int(batch_.cluster.num_slots); ++slot) open_tail(slot, nodes_->finish(slot));
    else
      for (const FreeSlots::Slot& slot : slots_.all()) open_tail(slot.index, slot.finish);
    __int128 room = 0, work = 0;
    for (int64_t each : rooms_) room += each;
    for (int64_t i = first_whole; i < batch_.num_samples(); ++i) work += batch_.whole_ns[size_t(i)];
    if (work > room && !counts()) return false;
    std::vector<std::pair<int64_t, int>> sorted;
    sorted.reserve(rooms_.size());
    for (size_t bin = 0; bin < rooms_.size(); ++bin) sorted.emplace_back(rooms_[bin], int(bin));
    std::sort(sorted.begin(), sorted.end());
    by_room_ = {sorted.begin(), sorted.end()};
    return true;
  }

  bool place_wholes(int64_t i) {
    for (; i < batch_.num_samples(); ++i)
      if (!place_whole(i) && !split_over_tails(i) && !goes_on_without(batch_.whole_ns[size_t(i)]))
        return false;
    return true;
  }

  bool place_whole(int64_t i) {
    const int64_t tokens = batch_.tokens[size_t(i)], work = batch_.whole_ns[size_t(i)];
    auto at = by_room_.lower_bound({work, 0});
    for (int passed = 0; at != by_room_.end(); ++passed) {
      const int bin = at->second, block = draft_.block_with_room(bin, tokens);
      const int64_t needed = work + (block == BlockDraft::kNewBlock ? batch_.cost.wave : 0);
      if (at->first >= needed) {
        draft_.add_whole(bin, block, i);
        auto node = by_room_.extract(at);
        node.value().first = rooms_[size_t(bin)] -= needed;
        by_room_.insert(std::move(node));
        return true;
      }
      if (passed < kMostTooSmall) ++at;
      else at = by_room_.lower_bound({work + batch_.cost.wave, 0});
    }
    return false;
  }

  /// A sample that fits nowhere whole: an even ring over the slots with the longest tails.
  bool split_over_tails(int64_t i) {
    if (nodes_) return split_over_tails_of_a_node(i);
    const int64_t tokens = batch_.tokens[size_t(i)];
    std::vector<int> bins;
    for (auto at = by_room_.rbegin(); at != by_room_.rend() && int64_t(bins.size()) < tokens; ++at) {
      if (!is_tail_[size_t(at->second)]) continue;
      bins.push_back(at->second);
      const int64_t cp = int64_t(bins.size());
      if (cp < 2 || (tokens + cp - 1) / cp > batch_.cluster.tokens_per_slot) continue;
      if (const int64_t room = at->first, length = ring_ns(i, cp); length <= room) {
        put_over_tails(i, bins, room - length);
        return true;
      }
    }
    return false;
  }

  /// The same with all slots on one node.
  bool split_over_tails_of_a_node(int64_t i) {
    const int64_t tokens = batch_.tokens[size_t(i)], per_node = batch_.cost.ranks_per_node;
    std::vector<int64_t> lengths(size_t(std::min(per_node, tokens)) + 1, 0);  // by ring size
    std::map<int64_t, std::vector<int>> bins_of;                              // by node
    int64_t looked_at = 0;
    for (auto at = by_room_.rbegin(); at != by_room_.rend() && looked_at < 4 * kWindowSlots; ++at) {
      if (!is_tail_[size_t(at->second)]) continue;
      ++looked_at;
      std::vector<int>& bins = bins_of[slot_of_[size_t(at->second)] / per_node];
      bins.push_back(at->second);
      const int64_t cp = int64_t(bins.size());
      if (cp < 2 || cp > tokens || (tokens + cp - 1) / cp > batch_.cluster.tokens_per_slot) continue;
      int64_t& length = lengths[size_t(cp)];
      if (length == 0) length = ring_ns(i, cp);
      if (length > at->first) continue;
      put_over_tails(i, std::vector<int>(bins), at->first - length);
      return true;
    }
    return false;
  }

  void put_over_tails(int64_t i, const std::vector<int>& bins, int64_t room) {
    members_.clear();
    for (int bin : bins) {
      members_.push_back(slot_of_[size_t(bin)]);
      by_room_.erase({rooms_[size_t(bin)], bin});
    }
    std::sort(members_.begin(), members_.end());
    draft_.add_even_ring(members_, i);
    for (int slot : members_)
      if (const int bin = open_bin(slot, room); bin >= 0) {
        is_tail_[size_t(bin)] = true;
        by_room_.insert({room, bin});
      }
  }

  const ElasticBatch& batch_;
  RingSizes& ring_sizes_;
  int64_t time_;
  StackStyle style_;
  RingOrder* order_;  // or null: the longest first
  Holes holes_;
  BlockDraft draft_;
  FreeSlots slots_;
  std::optional<NodeSlots> nodes_;  // instead of slots_
  Sizes sizes_;
  std::vector<FreeSlots::Slot> taken_;
  std::vector<int> members_;
  std::vector<int64_t> rooms_;                 // by bin
  std::vector<int> slot_of_;                   // by bin
  std::vector<bool> is_tail_;                  // by bin
  std::set<std::pair<int64_t, int>> by_room_;  // (room, bin)
};

}  // namespace

std::optional<BlockDraft> stack_within(const ElasticBatch& batch, RingSizes& sizes, int64_t time,
                                       const StackStyle& style, RingOrder* order) {
  Stack stack(batch, sizes, time, style, order);
  if (!stack.place_all()) return std::nullopt;
  return std::move(stack.draft());
}

void offer_draft(const ElasticBatch& batch, BlockDraft draft, int64_t time, BestPlan& best) {
  // Where mates end a wave together, joined waves may make a rank wait for mates of its mates.
  const bool tied = batch.cost_model.mates_end_together;
  std::optional<Plan> apart;
  if (tied) apart = draft.to_plan();
  if (!tied || batch.cost.wave > 0) {
    draft.merge_waves();
    best.offer(draft.to_plan(), batch.cost_model);
  }
  if (apart && best.total_ns - batch.cost.allreduce > time) best.offer(*std::move(apart), batch.cost_model);
}

}  // namespace zoetrope
