#include "schedule/ring_sizes.h"

#include <algorithm>

namespace zoetrope {

RingSizes::RingSizes(const std::vector<int64_t>& lengths, const FixedCost& cost, const Cluster& cluster)
    : cost_(cost), cluster_(cluster) {
  length_of_.reserve(lengths.size());
  for (int64_t tokens : lengths) {
    if (lengths_.empty() || lengths_.back().tokens != tokens) lengths_.push_back({tokens, 0, -1, 0, 0, {}});
    length_of_.push_back(int(lengths_.size()) - 1);
  }
}

int64_t RingSizes::least(int64_t index, int64_t time) {
  Length& length = lengths_[size_t(length_of_[size_t(index)])];
  if (time >= length.shortest && time <= length.longest) return length.cp;
  const int64_t cp = bound_of_sample(cost_, cluster_, length.tokens, time).cp;
  if (cp != length.cp || length.longest < length.shortest) length.shortest = length.longest = time;
  length.cp = cp;
  length.shortest = std::min(length.shortest, time);
  length.longest = std::max(length.longest, time);
  return cp;
}

const std::vector<PlacedRing>& RingSizes::within(int64_t index, int64_t time) {
  least(index, time);
  Length& length = lengths_[size_t(length_of_[size_t(index)])];
  if (length.cp != length.listed_cp) list(length);
  return length.places;
}

/// Sizes in steps of a sixteenth, and whole nodes.
void RingSizes::list(Length& length) const {
  length.places.clear();
  length.listed_cp = length.cp;
  if (length.cp == 0) return;
  const int64_t most = std::min({2 * length.cp + 2, cluster_.num_slots, length.tokens});
  const int64_t step = 1 + length.cp / 16;
  const bool small = cluster_.num_slots <= kWindowSlots;
  for (const bool uneven : {small, true}) {
    if (!length.places.empty()) return;
    for (int64_t cp = length.cp; cp <= most; ++cp)
      if ((cp - length.cp) % step == 0 || cp % cost_.ranks_per_node == 0) add_places(length, cp, uneven);
  }
}

/// Nodes of the pool that have so many slots.
int64_t RingSizes::nodes_with(int64_t per_node) const {
  const int64_t rest = cluster_.num_slots % cost_.ranks_per_node;
  return cluster_.num_slots / cost_.ranks_per_node + (rest >= per_node ? 1 : 0);
}

void RingSizes::add_places(Length& length, int64_t cp, bool uneven) const {
  const auto add = [&](const RingPlace& place) {
    length.places.push_back({place, even_ring_price(cost_, length.tokens, place).ns});
  };
  bool any = false;
  const std::vector<RingPlace> places = places_of(cp, cost_.ranks_per_node);
  for (const RingPlace& place : places) {
    if (place.per_node == 0 ? !uneven : place.num_nodes > nodes_with(place.per_node)) continue;
    add(place);
    any = true;
  }
  if (!any && uneven) add({cp, places[0].num_nodes, 0});  // a node with fewer slots takes part
}

}  // namespace zoetrope
