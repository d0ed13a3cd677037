#include "schedule/node_slots.h"

#include <algorithm>
#include <numeric>

#include "schedule/ring_sizes.h"

namespace zoetrope {

NodeSlots::NodeSlots(int64_t num_slots, int64_t ranks_per_node)
    : ranks_per_node_(ranks_per_node),
      finish_(size_t(num_slots), 0),
      sorted_finish_(size_t(num_slots), 0),
      sorted_slot_(size_t(num_slots)),
      cursor_(size_t(ranks_per_node) + 1, 0),
      ready_(size_t(ranks_per_node) + 1) {
  std::iota(sorted_slot_.begin(), sorted_slot_.end(), 0);
}

void NodeSlots::find(const RingPlace& where, int64_t length, int64_t charge, int64_t time, Place& best) {
  const int64_t cp = where.num_members, before = best.score;
  if (cp * length + charge >= best.score) return;
  const Ask ask{length, charge, time};
  if (where.num_nodes == 1) find_inside(cp, ask, best);
  else if (where.per_node > 0) find_between(where.num_nodes, where.per_node, ask, best);
  else find_anywhere(cp, ask, best);
  if (best.score < before) best.where = where;
}

bool NodeSlots::find_window(const Node& slots, int64_t cp, const Ask& ask, int64_t node, Place& best) {
  if (slots.count < cp || slots.finish[cp - 1] + ask.length > ask.time) return false;
  int64_t sum = 0;
  for (int64_t i = 0; i < cp - 1; ++i) sum += slots.finish[i];
  for (int64_t last = cp - 1; last < slots.count; ++last) {
    const int64_t start = slots.finish[last];
    sum += start;
    if (last >= cp) sum -= slots.finish[last - cp];
    if (start + ask.length > ask.time) break;
    const int64_t score = cp * (start + ask.length) - sum + ask.charge;
    if (score >= best.score) continue;
    best = {start, ask.length, score, {}, node, last - cp + 1};
    if (score == cp * ask.length + ask.charge) return true;
  }
  return false;
}

void NodeSlots::find_inside(int64_t cp, const Ask& ask, Place& best) {
  const size_t num_nodes = size_t((int64_t(finish_.size()) + ranks_per_node_ - 1) / ranks_per_node_);
  const bool small = int64_t(finish_.size()) <= kWindowSlots;
  size_t& cursor = cursor_[size_t(cp)];
  int64_t found = -1;
  for (size_t i = 0, node = small ? 0 : cursor; i < num_nodes; ++i) {
    const int64_t before = best.score;
    const bool done = find_window(this->node(node), cp, ask, int64_t(node), best);
    if (best.score < before) found = int64_t(node);
    if (done || (!small && found >= 0 && int64_t(i) >= kWindowSlots)) break;
    if (++node == num_nodes) node = 0;
  }
  if (found >= 0) cursor = size_t(found);
}

void NodeSlots::find_anywhere(int64_t cp, const Ask& ask, Place& best) {
  if (all_finish_.empty()) {
    Slots all;
    for (size_t slot = 0; slot < finish_.size(); ++slot) all.emplace_back(finish_[slot], int(slot));
    std::sort(all.begin(), all.end());
    all_slots_.clear();
    for (const auto& [finish, slot] : all) {
      all_finish_.push_back(finish);
      all_slots_.push_back(slot);
    }
  }
  find_window({all_finish_.data(), int64_t(all_finish_.size())}, cp, ask, -1, best);
}

void NodeSlots::find_between(int64_t num_nodes, int64_t per_node, const Ask& ask, Place& best) {
  const std::vector<Ready>& nodes = ready(per_node);
  const int64_t cp = num_nodes * per_node;
  const int64_t most = std::min(int64_t(nodes.size()), std::max(kWindowSlots, 2 * num_nodes));
  int64_t sum = 0;
  for (int64_t last = 0; last < most; ++last) {
    const int64_t start = nodes[size_t(last)].start;
    sum += nodes[size_t(last)].sum;
    if (last >= num_nodes) sum -= nodes[size_t(last - num_nodes)].sum;
    if (last < num_nodes - 1) continue;
    if (start + ask.length > ask.time) break;
    const int64_t score = cp * (start + ask.length) - sum + ask.charge;
    if (score >= best.score) continue;
    best = {start, ask.length, score, {}, -1, last - num_nodes + 1};
    if (score == cp * ask.length + ask.charge) break;
  }
}

NodeSlots::Ready NodeSlots::ready_of(int node, int64_t per_node) const {
  const Node slots = this->node(size_t(node));
  int64_t sum = 0;
  for (int64_t i = 0; i < per_node; ++i) sum += slots.finish[i];
  return {slots.finish[per_node - 1], node, sum};
}

const std::vector<NodeSlots::Ready>& NodeSlots::ready(int64_t per_node) {
  std::vector<Ready>& list = ready_[size_t(per_node)];
  if (!list.empty()) return list;
  for (int node = 0; int64_t(node) * ranks_per_node_ < int64_t(finish_.size()); ++node)
    if (this->node(size_t(node)).count >= per_node) list.push_back(ready_of(node, per_node));
  std::sort(list.begin(), list.end());
  return list;
}

void NodeSlots::list_members(const Place& place, std::vector<int>& members) const {
  members.clear();
  const RingPlace& where = place.where;
  if (where.num_nodes > 1 && where.per_node > 0) {
    const std::vector<Ready>& nodes = ready_[size_t(where.per_node)];
    for (int64_t n = place.first; n < place.first + where.num_nodes; ++n) {
      const auto from = sorted_slot_.begin() + nodes[size_t(n)].node * ranks_per_node_;
      members.insert(members.end(), from, from + where.per_node);
    }
  } else {
    const auto from =
        where.num_nodes == 1 ? sorted_slot_.begin() + place.node * ranks_per_node_ : all_slots_.begin();
    members.assign(from + place.first, from + place.first + where.num_members);
  }
  std::sort(members.begin(), members.end());
}

/// A node's slots are free at other times than before: `changed`.
void NodeSlots::move_node(int node, const Slots& changed) {
  before_.resize(ready_.size());
  for (size_t per_node = 1; per_node < ready_.size(); ++per_node)
    if (!ready_[per_node].empty() && changed.size() >= per_node)
      before_[per_node] = ready_of(node, int64_t(per_node));
  for (size_t i = 0, to = size_t(node * ranks_per_node_); i < changed.size(); ++i, ++to) {
    sorted_finish_[to] = changed[i].first;
    sorted_slot_[to] = changed[i].second;
  }
  for (size_t per_node = 1; per_node < ready_.size(); ++per_node) {
    std::vector<Ready>& list = ready_[per_node];
    if (list.empty() || changed.size() < per_node) continue;
    const Ready after = ready_of(node, int64_t(per_node));
    const auto from = std::lower_bound(list.begin(), list.end(), before_[per_node]);
    const auto to = std::lower_bound(list.begin(), list.end(), after);
    if (from < to) {
      std::move(from + 1, to, from);
      *(to - 1) = after;
    } else {
      std::move_backward(to, from, from + 1);
      *to = after;
    }
  }
}

void NodeSlots::put(int64_t finish, const std::vector<int>& slots) {
  all_finish_.clear();
  Slots changed;
  for (size_t i = 0; i < slots.size();) {
    const int node = int(slots[i] / ranks_per_node_);
    for (; i < slots.size() && slots[i] / ranks_per_node_ == node; ++i) finish_[size_t(slots[i])] = finish;
    changed.clear();
    const int64_t first = node * ranks_per_node_, end = first + this->node(size_t(node)).count;
    for (int64_t slot = first; slot < end; ++slot) changed.emplace_back(finish_[size_t(slot)], int(slot));
    std::sort(changed.begin(), changed.end());
    move_node(node, changed);
  }
}

}  // namespace zoetrope
