#include "schedule/node_slots.h"

#include <algorithm>

namespace zoetrope {

NodeSlots::NodeSlots(int64_t num_slots, int64_t ranks_per_node)
    : ranks_per_node_(ranks_per_node),
      finish_(size_t(num_slots), 0),
      nodes_(size_t((num_slots + ranks_per_node - 1) / ranks_per_node)) {
  for (int slot = 0; slot < int(num_slots); ++slot)
    nodes_[size_t(slot / ranks_per_node)].emplace_back(0, slot);
}

void NodeSlots::find(const RingPlace& where, int64_t length, int64_t charge, int64_t time,
                     Place& best) const {
  const int64_t cp = where.num_members;
  if (cp * length + charge >= best.score) return;
  const Ask ask{length, charge, time};
  if (where.num_nodes == 1) find_inside(cp, ask, best);
  else if (where.per_node > 0) find_between(where.num_nodes, where.per_node, ask, best);
  else find_anywhere(cp, ask, best);
}

bool NodeSlots::find_window(const Node& slots, int64_t cp, const Ask& ask, Place& best) {
  int64_t sum = 0;
  for (int64_t last = 0; last < int64_t(slots.size()); ++last) {
    const int64_t start = slots[size_t(last)].first;
    sum += start;
    if (last >= cp) sum -= slots[size_t(last - cp)].first;
    if (last < cp - 1) continue;
    if (start + ask.length > ask.time) break;
    const int64_t score = cp * (start + ask.length) - sum + ask.charge;
    if (score >= best.score) continue;
    best = {{}, start, ask.length, score};
    for (int64_t i = last - cp + 1; i <= last; ++i) best.members.push_back(slots[size_t(i)].second);
    if (score == cp * ask.length + ask.charge) return true;
  }
  return false;
}

void NodeSlots::find_inside(int64_t cp, const Ask& ask, Place& best) const {
  for (const Node& node : nodes_)
    if (find_window(node, cp, ask, best)) return;
}

void NodeSlots::find_anywhere(int64_t cp, const Ask& ask, Place& best) const {
  Node all;
  for (const Node& node : nodes_) all.insert(all.end(), node.begin(), node.end());
  std::sort(all.begin(), all.end());
  find_window(all, cp, ask, best);
}

void NodeSlots::find_between(int64_t num_nodes, int64_t per_node, const Ask& ask, Place& best) const {
  struct Ready {
    int64_t start, sum;
    size_t node;
  };
  std::vector<Ready> ready;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (int64_t(nodes_[n].size()) < per_node) continue;
    int64_t sum = 0;
    for (int64_t i = 0; i < per_node; ++i) sum += nodes_[n][size_t(i)].first;
    ready.push_back({nodes_[n][size_t(per_node - 1)].first, sum, n});
  }
  std::stable_sort(ready.begin(), ready.end(),
                   [](const Ready& a, const Ready& b) { return a.start < b.start; });
  int64_t sum = 0, found = -1;
  for (int64_t last = 0; last < int64_t(ready.size()); ++last) {
    const int64_t start = ready[size_t(last)].start;
    sum += ready[size_t(last)].sum;
    if (last >= num_nodes) sum -= ready[size_t(last - num_nodes)].sum;
    if (last < num_nodes - 1) continue;
    if (start + ask.length > ask.time) break;
    const int64_t cp = num_nodes * per_node, score = cp * (start + ask.length) - sum + ask.charge;
    if (score >= best.score) continue;
    best = {{}, start, ask.length, score};
    found = last;
  }
  if (found < 0) return;
  for (int64_t n = found - num_nodes + 1; n <= found; ++n)
    for (int64_t i = 0; i < per_node; ++i)
      best.members.push_back(nodes_[ready[size_t(n)].node][size_t(i)].second);
}

void NodeSlots::put(int64_t finish, const std::vector<int>& slots) {
  for (int slot : slots) {
    finish_[size_t(slot)] = finish;
    Node& node = nodes_[size_t(slot / ranks_per_node_)];
    for (auto& entry : node)
      if (entry.second == slot) entry.first = finish;
    std::sort(node.begin(), node.end());
  }
}

}  // namespace zoetrope
