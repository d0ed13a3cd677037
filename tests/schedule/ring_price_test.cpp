// What split samples cost by exchange scheme and place, against figures worked out by hand.
#include "schedule/ring_price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/random_cost.h"

namespace zoetrope {
namespace {

/// Nodes of 4 ranks; a pair costs 1, a token 10, a remote token 3 inside and 30 between nodes, an exchange
/// step 50 and 70, heads for tokens 8 a token; blocks count as 5 tokens longer.
FixedCost round_cost() {
  CostModel cost;
  cost.linear_ns = 10;
  cost.quadratic_ns = 1;
  cost.transfer_ns = 3;
  cost.transfer_between_ns = 30;
  cost.latency_ns = 50;
  cost.latency_between_ns = 70;
  cost.all_to_all_ns = 8;
  cost.num_heads = 6;
  cost.short_block_tokens = 5;
  cost.exchange_ns = 2;
  cost.sample_overhead_ns = 100;
  cost.wave_overhead_ns = 1000;
  cost.ranks_per_node = 4;
  return FixedCost(cost);
}

using Times = std::vector<int64_t>;

TEST(RingPrice, RingInsideANodeHidesItsTransfers) {
  const RingView ring{0, {0, 2, 3}, {20, 30, 2}};
  const auto member = [](int64_t own, int64_t first, int64_t second) {
    const auto block = [&](int64_t b) { return std::max(own * (b + 5), 3 * b + 50) + 2 * b; };
    return 100 + 10 * own + own * (own + 5) + block(first) + block(second);
  };
  EXPECT_EQ(ring_ns(round_cost(), Exchange::kRing, ring),
            (Times{member(20, 30, 2), member(30, 20, 2), member(2, 20, 30)}));
  EXPECT_EQ(member(2, 20, 30), 100 + 20 + 14 + (110 + 40) + (140 + 60))
      << "here the links are what takes time";
}

TEST(RingPrice, RingOverNodesGoesAtThePaceOfTheirLinks) {
  const RingView ring{0, {3, 4}, {20, 20}};
  const int64_t each = 100 + 200 + 20 * 25 + std::max(20 * 25, 30 * 20 + 70) + 40;
  EXPECT_EQ(ring_ns(round_cost(), Exchange::kRing, ring), (Times{each, each}));
}

TEST(RingPrice, AllGatherSendsFirstAndWaitsOnce) {
  const RingView ring{0, {0, 1, 2}, {10, 10, 20}};
  const auto member = [](int64_t own) {
    return 100 + 10 * own + own * (40 + 3 * 5) + 3 * (40 - own) + 50 + 2 * (40 - own);
  };
  EXPECT_EQ(ring_ns(round_cost(), Exchange::kAllGather, ring), (Times{member(10), member(10), member(20)}));
}

TEST(RingPrice, AllToAllSharesAttentionEvenlyWhateverTheShards) {
  const RingView ring{0, {1, 2, 3}, {6, 12, 42}};
  const auto member = [](int64_t own) {
    return 100 + 10 * own + 60 * (60 + 5 * 3) / 3 + 8 * own * 2 / 3 + 2 * 50;
  };
  EXPECT_EQ(ring_ns(round_cost(), Exchange::kAllToAll, ring), (Times{member(6), member(12), member(42)}));
}

TEST(RingPrice, HierarchicalRingsNodesBlocks) {
  const RingView ring{0, {0, 1, 5, 6}, {6, 14, 30, 10}};
  const auto member = [](int64_t own, int64_t block, int64_t other) {
    return 100 + 10 * own + block * (block + 10) / 2 +
           std::max(block * (other + 10) / 2, 30 * other / 2 + 70) + 2 * other / 2 + 8 * own / 2 + 2 * 50;
  };
  EXPECT_EQ(ring_ns(round_cost(), Exchange::kHierarchical, ring),
            (Times{member(6, 20, 40), member(14, 20, 40), member(30, 40, 20), member(10, 40, 20)}));
}

TEST(RingPrice, SchemesNeedTheirPlace) {
  const FixedCost cost = round_cost();
  EXPECT_TRUE(can_exchange(cost, Exchange::kAllToAll, place_of({0, 1, 2}, 4)));
  EXPECT_FALSE(can_exchange(cost, Exchange::kAllToAll, place_of({0, 1, 2, 3}, 4)))
      << "4 does not divide 6 heads";
  EXPECT_FALSE(can_exchange(cost, Exchange::kAllToAll, place_of({3, 4}, 4))) << "two nodes";
  EXPECT_TRUE(can_exchange(cost, Exchange::kHierarchical, place_of({2, 3, 4, 7}, 4)));
  EXPECT_FALSE(can_exchange(cost, Exchange::kHierarchical, place_of({3, 4}, 4))) << "one rank of each node";
  EXPECT_FALSE(can_exchange(cost, Exchange::kHierarchical, place_of({2, 3, 4}, 4))) << "two and one";
  EXPECT_EQ(places_of(4, 4), (std::vector<RingPlace>{{4, 1, 4}}));
  EXPECT_EQ(places_of(7, 4), (std::vector<RingPlace>{{7, 7, 1}, {7, 2, 0}}));
  EXPECT_EQ(places_of(12, 4), (std::vector<RingPlace>{{12, 3, 4}, {12, 4, 3}, {12, 6, 2}, {12, 12, 1}}));
}

/// The even split over `place` as a ring: node by node.
RingView even_ring(int64_t tokens, const RingPlace& place, int64_t ranks_per_node) {
  RingView ring;
  for (int64_t i = 0; i < place.num_members; ++i) {
    const int64_t per_node = place.per_node > 0 ? place.per_node : ranks_per_node;
    ring.members.push_back(int(i / per_node * ranks_per_node + i % per_node));
    ring.tokens.push_back(tokens / place.num_members + (i < tokens % place.num_members ? 1 : 0));
  }
  return ring;
}

TEST(RingPrice, EvenSplitsHaveThePriceOfTheirRing) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 2000; ++run) {
    const FixedCost cost(random_cost(random));
    const int64_t cp = 2 + int64_t(random() % 40), tokens = cp + int64_t(random() % 5000);
    int64_t least = INT64_MAX;
    for (const RingPlace& place : places_of(cp, cost.ranks_per_node)) {
      const RingView ring = even_ring(tokens, place, cost.ranks_per_node);
      ASSERT_EQ(place_of(ring.members, cost.ranks_per_node), place) << "seed " << seed << " run " << run;
      const RingPrice even = even_ring_price(cost, tokens, place), whole = cheapest_exchange(cost, ring);
      ASSERT_EQ(even.ns, whole.ns) << "seed " << seed << " run " << run;
      ASSERT_EQ(even.first_ns, whole.first_ns) << "seed " << seed << " run " << run;
      least = std::min(least, even.ns);
    }
    ASSERT_EQ(cost.even_ring(tokens, cp), least) << "seed " << seed << " run " << run;
  }
}

}  // namespace
}  // namespace zoetrope
