// The rival planners on batches small enough to follow by hand.
#include <gtest/gtest.h>

#include "core/check.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

using Slots = std::vector<std::vector<Shard>>;

TEST(GreedyWaves, TheTallestTakesItsLeastSizeAndSmallGroupsDoubleUntilNoSlotIsEmpty) {
  const Plan plan = plan_greedy_waves({6144, 2048}, {2, 4096});
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0].slots, (Slots{{{0, 0, 3072}, {1, 0, 1024}}, {{0, 3072, 6144}, {1, 1024, 2048}}}));
  const Plan doubled = plan_greedy_waves({10, 90, 10}, {4, 100});
  ASSERT_EQ(doubled.waves.size(), 1u);  // 90 on one slot, both tens on another; then both groups double
  EXPECT_EQ(doubled.waves[0].slots,
            (Slots{{{1, 0, 45}}, {{1, 45, 90}}, {{0, 0, 5}, {2, 0, 5}}, {{0, 5, 10}, {2, 5, 10}}}));
}

TEST(GreedyWaves, AWaveThatNoDoublingFillsGoesToOneGroupOfAllSlots) {
  // One of six slots stays empty beside 4 + 1, and then a group of two or four finds no room to double.
  const Plan plan = plan_greedy_waves({390, 100, 100}, {6, 100});
  for (const Wave& wave : plan.waves)
    for (const auto& slot : wave.slots) EXPECT_FALSE(slot.empty()) << plan_to_json(plan);
  const Plan rounded_up = plan_greedy_waves({500, 60}, {6, 100});  // five of six ranks round up to eight
  ASSERT_EQ(rounded_up.waves.size(), 1u);
  EXPECT_EQ(ring_members(rounded_up.waves[0], 0).size(), 6u);
  EXPECT_EQ(ring_members(rounded_up.waves[0], 1).size(), 6u);
}

TEST(Bags, SpecsAreSizesAndCountsOfAllRanks) {
  EXPECT_EQ(read_bags("g1n3+g2n1", 5), (std::vector<int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(read_bags("g8n1", 8), (std::vector<int64_t>{8}));
  for (const char* spec : {"", "g1", "g1n", "g1n3+", "n3g1", "g0n3+g5n1", "g-1n-5", "g1n4", "g1n6",
                           "g1n3,g2n1", "g1n5 ", "g1n99999999999999999999", "g3000000n3000000"})
    EXPECT_THROW(read_bags(spec, 5), UsageError) << spec;
}

TEST(Bags, TheLeastOccupiedBagThatHoldsTheSampleTakesIt) {
  CostModel square = find_cost("square");
  // 150 fits the bag of two alone; 80 goes to an empty bag of one, 70 to the other, 10 to the least occupied.
  const Plan plan = plan_bags({10, 80, 150, 70}, square, {4, 100}, "g1n2+g2n1");
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0].slots,
            (Slots{{{1, 0, 80}}, {{3, 0, 70}, {0, 0, 10}}, {{2, 0, 75}}, {{2, 75, 150}}}));
  // A full bag opens another wave.
  const Plan waves = plan_bags({90, 80}, square, {1, 100}, "g1n1");
  EXPECT_EQ(waves.waves.size(), 2u);
  EXPECT_THROW(plan_bags({150}, square, {4, 100}, "g1n4"), Error);
  EXPECT_NO_THROW(plan_bags({400}, square, {4, 100}, ""));
}

TEST(Bags, TheDerivedSpecIsTheFastestOfThoseTried) {
  // The giant is worth two ranks and more; mixed bags beat one size for all.
  const std::vector<int64_t> lengths{4000, 2000, 2000, 1500, 1500, 1000, 1000, 1000, 500, 500};
  const CostModel cost = find_cost("ring:1700");
  const Cluster cluster{4, 2000};
  const int64_t derived = makespan_of(plan_bags(lengths, cost, cluster, ""), cost).total_ns;
  for (const char* spec : {"g2n1+g1n2", "g2n2", "g4n1"})
    EXPECT_LE(derived, makespan_of(plan_bags(lengths, cost, cluster, spec), cost).total_ns) << spec;
}

TEST(Dynamic, OneSizePerWaveBesideWholeSamples) {
  const CostModel cost = find_cost("ring:1700");
  for (const Execution execution : {Execution::kFree, Execution::kWaves})
    for (int64_t num_slots : {1, 3, 7, 8}) {
      const Plan plan =
          plan_dynamic({9000, 5000, 4000, 300, 200, 100, 50, 7}, cost, {num_slots, 9000, 0, execution});
      for (const Wave& wave : plan.waves) {
        const std::vector<RingView> rings = split_samples(wave);
        for (const RingView& ring : rings) EXPECT_EQ(ring.members.size(), rings[0].members.size());
      }
    }
}

TEST(Dynamic, TakesASizeThatIsNoPowerOfTwo) {
  // Three equal samples on nine ranks: three groups of three are exact.
  const Plan plan = plan_dynamic({900, 900, 900}, find_cost("ring:1700"), {9, 900, 0, Execution::kWaves});
  EXPECT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(cp_sizes_of(plan), (std::vector<int64_t>{3}));
}

}  // namespace
}  // namespace zoetrope
