// Simulated steps worked out by hand.
#include "schedule/simulate.h"

#include <gtest/gtest.h>

#include "core/check.h"
#include "schedule/simulate_lanes.h"

namespace zoetrope {
namespace {

/// A token costs 4 ns, 1 forward, 1 again and 2 backward; so does a pair; nothing else takes time.
CostModel four_per_token() {
  CostModel cost;
  cost.linear_ns = cost.quadratic_ns = 4;
  cost.linear_forward_ns = cost.linear_recompute_ns = 1;
  cost.quadratic_forward_ns = cost.quadratic_recompute_ns = 1;
  cost.transfer_ns = cost.latency_ns = cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  cost.num_layers = 1;
  cost.ranks_per_node = 8;
  return cost;
}

/// One sample on so many slots, evenly, in the only wave.
Plan one_ring(int64_t tokens, int64_t size, Exchange exchange) {
  Plan plan{{Wave{}}};
  for (int64_t i = 0; i < size; ++i)
    plan.waves[0].slots.push_back({{0, tokens * i / size, tokens * (i + 1) / size}});
  list_rings(plan);
  plan.waves[0].rings[0].exchange = exchange;
  return plan;
}

TEST(Simulate, TwoRanksWhoseTransfersTakeLongerThanTheirBlocks) {
  // 10 tokens each: 10 ns of tokens and 100 of a block forward and again, 20 and 200 backward. A transfer
  // takes 400 ns a round: 300 of them wait forward and again. Backward the keys hide 100 of half the own
  // block, the gradients the 100 of its other half: 300 of each wait.
  CostModel cost = four_per_token();
  cost.transfer_ns = 160;
  const Simulation simulation = simulate(one_ring(20, 2, Exchange::kRing), cost);
  EXPECT_EQ(simulation.busy_ns, (std::vector<int64_t>{840, 840}));
  EXPECT_EQ(simulation.exposed_ns, (std::vector<int64_t>{1200, 1200}));
  EXPECT_EQ(simulation.idle_ns, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(simulation.total_ns, 2040);
  const std::vector<SimSpan> forward{{SimSpan::kCompute, 0, 110, 0, false},
                                     {SimSpan::kTransfer, 110, 410, 0, false},
                                     {SimSpan::kCompute, 410, 510, 0, false}};
  EXPECT_EQ(std::vector<SimSpan>(simulation.lanes[0].begin(), simulation.lanes[0].begin() + 3), forward);
}

TEST(Simulate, UnsplitSamplesHideTransfers) {
  // The same with an unsplit sample of 20 tokens on each rank: 400 ns of attention forward, again, and 800
  // backward. It covers the first transfers and the last gradients; keys of backward still wait for 200.
  CostModel cost = four_per_token();
  cost.transfer_ns = 160;
  Plan plan = one_ring(20, 2, Exchange::kRing);
  for (int64_t slot = 0; slot < 2; ++slot) plan.waves[0].slots[size_t(slot)].push_back({1 + slot, 0, 20});
  const Simulation simulation = simulate(plan, cost);
  EXPECT_EQ(simulation.exposed_ns, (std::vector<int64_t>{200, 200}));
  EXPECT_EQ(simulation.busy_ns[0], 840 + 80 + 1600);
}

TEST(Simulate, WhatNothingHidesTakesTheCostModelsTime) {
  CostModel cost = four_per_token();
  cost.num_heads = 12;
  cost.transfer_ns = 40;
  cost.latency_ns = 96;
  cost.all_to_all_ns = 60;
  for (const Exchange exchange : {Exchange::kAllGather, Exchange::kAllToAll}) {
    const Plan plan = one_ring(48, 4, exchange);
    const Simulation simulation = simulate(plan, cost);
    EXPECT_EQ(simulation.total_ns, makespan_of(plan, cost).total_ns) << name_of(exchange);
    EXPECT_EQ(simulation.busy_ns[0], 4 * 12 + 4 * 12 * 48) << name_of(exchange);
  }
}

TEST(Simulate, RingInsideANodeIsSparedTheSlowLinks) {
  CostModel cost = four_per_token();
  cost.transfer_ns = 40;
  cost.transfer_between_ns = 4000;
  const Plan plan = one_ring(40, 4, Exchange::kRing);
  cost.ranks_per_node = 4;
  const int64_t inside = simulate(plan, cost).total_ns;
  cost.ranks_per_node = 2;
  EXPECT_GT(simulate(plan, cost).total_ns, inside);
  cost.transfer_ns = 4000;
  cost.ranks_per_node = 4;
  EXPECT_GE(simulate(plan, cost).total_ns, inside);
}

TEST(Simulate, WavesInLockStepBeginTogether) {
  Plan plan{{Wave{{{{0, 0, 10}}, {{1, 0, 20}}}, {}}, Wave{{{{2, 0, 20}}, {{3, 0, 10}}}, {}}}};
  const CostModel cost = four_per_token();  // 440 and 1680 ns
  EXPECT_EQ(simulate(plan, cost, Execution::kFree).total_ns, 440 + 1680);
  const Simulation waves = simulate(plan, cost, Execution::kWaves);
  EXPECT_EQ(waves.total_ns, 2 * 1680);
  EXPECT_EQ(waves.idle_ns, (std::vector<int64_t>{1240, 1240}));
  EXPECT_EQ(waves.peak_tokens, (std::vector<int64_t>{20, 20}));
}

TEST(Simulate, AllReduceHidesBehindARingFreeLastBackward) {
  CostModel cost = four_per_token();
  cost.allreduce_ns = 80;
  const Plan alone{{Wave{{{{0, 0, 100}}}, {}}}};
  // Eight parts; the last is ready when the backward ends.
  EXPECT_EQ(simulate(alone, cost).allreduce_ns, 10);
  EXPECT_EQ(simulate(one_ring(40, 2, Exchange::kRing), cost).allreduce_ns, 80) << "a ring goes first";
}

TEST(Simulate, CountsUsefulWorkAlone) {
  CostModel cost = four_per_token();
  cost.linear_flops = 30;
  cost.quadratic_flops = 3;
  cost.gemm_flops = 1e9;  // one per ns
  const Plan plan{{Wave{{{{0, 0, 10}}, {}}, {}}}};
  EXPECT_DOUBLE_EQ(simulate(plan, cost).mfu, (30.0 * 10 + 3 * 100) / (440 * 2));
  cost.gemm_flops = 0;
  EXPECT_EQ(simulate(plan, cost).mfu, 0);
}

TEST(Simulate, RefusesASchemeThatCannotBe) {
  CostModel cost = four_per_token();
  cost.num_heads = 12;
  EXPECT_THROW(simulate(one_ring(40, 5, Exchange::kAllToAll), cost), Error);  // 5 ranks don't divide 12 heads
  EXPECT_THROW(simulate(one_ring(40, 4, Exchange::kHierarchical), cost), Error);  // on one node
}

// Steps that stand for several transfers take what these take when compute covers them.
TEST(Simulate, JoinedRingStepsTakeTheSame) {
  CostModel cost = four_per_token();
  cost.transfer_ns = 40;  // ten rounds in a block's compute
  const Plan plan = one_ring(320, 8, Exchange::kRing);
  const Simulation single = simulate_layers(plan, cost, Execution::kFree, {2, 64, true});
  const Simulation joined = simulate_layers(plan, cost, Execution::kFree, {2, 3, true});
  EXPECT_EQ(joined.total_ns, single.total_ns);
  EXPECT_EQ(joined.busy_ns, single.busy_ns);
}

}  // namespace
}  // namespace zoetrope
