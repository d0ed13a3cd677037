// What a split sample costs its ranks, by exchange scheme and by where the ranks lie.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fixed_cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Where a ring lies. Nodes are groups of `ranks_per_node` consecutive slots.
struct RingPlace {
  int64_t num_members = 1, num_nodes = 1;
  int64_t per_node = 1;  ///< members on each node; 0: not the same number everywhere
  bool operator==(const RingPlace&) const = default;
};
/// Where these slots lie.
RingPlace place_of(const std::vector<int>& members, int64_t ranks_per_node);
/// Places worth trying for `cp` ranks: one node if they fit; else the same number on each of some nodes, and
/// as few nodes as can be.
std::vector<RingPlace> places_of(int64_t cp, int64_t ranks_per_node);

/// True when the cost set has the scheme and it works at this place.
bool can_exchange(const FixedCost& cost, Exchange exchange, const RingPlace& place);

/// Nanoseconds of each member of a ring, segment overhead included.
/// Source: Note [Schemes] in ring_price.cpp.
std::vector<int64_t> ring_ns(const FixedCost& cost, Exchange exchange, const RingView& ring);

/// A scheme and the nanoseconds of the slowest and of the first member.
struct RingPrice {
  Exchange exchange = Exchange::kRing;
  int64_t ns = 0, first_ns = 0;
};
/// The scheme with the fastest slowest member; the first of equals.
RingPrice cheapest_exchange(const FixedCost& cost, const RingView& ring);
/// The same for an even split over the members of `place`.
RingPrice even_ring_price(const FixedCost& cost, int64_t tokens, const RingPlace& place);

/// Where an even split of so many tokens over `cp` ranks is cheapest.
RingPlace cheapest_place(const FixedCost& cost, int64_t tokens, int64_t cp);

/// Sets the cheapest scheme of every ring of a plan; planners call it last.
void choose_exchanges(Plan& plan, const FixedCost& cost);

}  // namespace zoetrope
