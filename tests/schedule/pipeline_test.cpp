// Pipelines on paper against times counted by hand.
#include "schedule/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/check.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

/// 6 ns per token: with two stages a token takes 1 ns forward and 2 ns backward on each.
CostModel six_per_token() {
  CostModel cost;
  cost.linear_ns = 6;
  cost.quadratic_ns = cost.transfer_ns = cost.latency_ns = 0;
  cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  return cost;
}

/// One pipeline with a sample per wave.
Plan one_pipeline(const std::vector<int64_t>& tokens) {
  Plan plan;
  for (size_t i = 0; i < tokens.size(); ++i) plan.waves.push_back({{{{int64_t(i), 0, tokens[i]}}}, {}});
  return plan;
}

TEST(Pipeline, RunsTwoMicroBatchesOnTwoStagesAsOnPaper) {
  // stage 0: F0 0-10, F1 10-20, B0 40-60, B1 70-90; stage 1: F0 10-20, B0 20-40, F1 40-50, B1 50-70.
  const PipelineRun run = simulate_pipeline(one_pipeline({10, 10}), six_per_token(), {2});
  EXPECT_EQ(run.total_ns, 90);
  EXPECT_EQ(run.busy_ns, (std::vector<int64_t>{60, 60}));
  EXPECT_EQ(run.idle_ns, (std::vector<int64_t>{30, 30}));
  EXPECT_EQ(run.tokens_in_flight, (std::vector<int64_t>{20, 10}));
  EXPECT_EQ(run.batches_in_flight, (std::vector<int64_t>{2, 1}));
}

TEST(Pipeline, ShapeHasTheSharesOfTheCostSet) {
  const auto parts = [](const CostModel& cost, const std::vector<int64_t>& lengths) {
    const PipelineShape shape = pipeline_shape(cost, 4, lengths);
    EXPECT_EQ(shape.num_stages, 4);
    EXPECT_EQ(shape.recompute_parts, 0);
    return std::pair{shape.forward_parts, shape.backward_parts};
  };
  CostModel cost = six_per_token();
  EXPECT_EQ(parts(cost, {5}), (std::pair<int64_t, int64_t>{1, 2})) << "the set doesn't say";
  cost.linear_forward_ns = 1.5;
  EXPECT_EQ(parts(cost, {5, 7}), (std::pair<int64_t, int64_t>{256, 768}));
  EXPECT_EQ(parts(cost, {}), (std::pair<int64_t, int64_t>{1, 2}));
  cost.quadratic_ns = 3;  // samples of 2: 24 of tokens and 24 of pairs, forward 6 and 12
  EXPECT_EQ(parts(cost, {2, 2}), (std::pair<int64_t, int64_t>{1, 2})) << "half of it isn't known";
  cost.quadratic_forward_ns = 1.5;
  EXPECT_EQ(parts(cost, {2, 2}), (std::pair<int64_t, int64_t>{384, 640}));
  constexpr int64_t kLong = int64_t(1) << 38;  // pairs alone
  EXPECT_EQ(parts(cost, std::vector<int64_t>(1000, kLong)), (std::pair<int64_t, int64_t>{512, 512}));
}

TEST(Pipeline, OrderOfUnequalMicroBatchesMatters) {
  // 10 then 40: F0 0-10, F1 10-50 | F0 10-20, B0 20-40, F1 50-90, B1 90-170 | B0 50-70, B1 170-250.
  EXPECT_EQ(simulate_pipeline(one_pipeline({10, 40}), six_per_token(), {2}).total_ns, 250);
  // 40 then 10: F0 0-40, F1 40-50 | F0 40-80, B0 80-160, F1 160-170, B1 170-190 | B0 160-240, B1 240-260.
  EXPECT_EQ(simulate_pipeline(one_pipeline({40, 10}), six_per_token(), {2}).total_ns, 260);
}

TEST(Pipeline, EqualMicroBatchesPayTheBubbleOfOneLessThanTheStages) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t count = 1; count <= 20; ++count) {
      CostModel cost = six_per_token();
      cost.linear_ns = 3 * double(stages);
      const std::vector<int64_t> tokens(size_t(count), 7);
      const PipelineRun run = simulate_pipeline(one_pipeline(tokens), cost, {stages});
      ASSERT_EQ(run.total_ns, (count + stages - 1) * 21) << stages << " stages, " << count;
      for (int64_t stage = 0; stage < stages; ++stage)
        ASSERT_EQ(run.batches_in_flight[size_t(stage)], std::min(stages - stage, count));
    }
}

TEST(Pipeline, RecomputeAddsAForwardToTheBackward) {
  PipelineShape shape{2};
  shape.recompute_parts = 1;
  // Each 10 forward and 30 backward.
  EXPECT_EQ(simulate_pipeline(one_pipeline({10, 10}), six_per_token(), shape).total_ns, 3 * 40);
  EXPECT_THROW(check_shape({0}), Error);
  EXPECT_THROW(check_shape({2, 0, 1}), Error);
}

TEST(Pipeline, MatesStartAWaveTogetherOnEveryStage) {
  // Pipeline 0 as in the first test; pipeline 1 has the second wave's other half only.
  Plan plan;
  plan.waves = {{{{{0, 0, 10}}, {}}, {}}, {{{{1, 0, 10}}, {{1, 10, 20}}}, {}}};
  list_rings(plan);
  const PipelineRun run = simulate_pipeline(plan, six_per_token(), {2});
  EXPECT_EQ(run.total_ns, 90);
  EXPECT_EQ(run.busy_ns, (std::vector<int64_t>{60, 60, 30, 30}));
  EXPECT_EQ(run.tokens_in_flight, (std::vector<int64_t>{20, 10, 10, 10}));
}

TEST(Pipeline, MatesEndTogetherWhereTheCostSetSaysSo) {
  // A ring of 15 and 5 tokens, then 10 tokens on the second pipeline; one stage: 2 ns forward, 4 ns backward.
  Plan plan;
  plan.waves = {{{{{0, 0, 15}}, {{0, 15, 20}}}, {}}, {{{}, {{1, 0, 10}}}, {}}};
  list_rings(plan);
  CostModel cost = six_per_token();
  EXPECT_EQ(simulate_pipeline(plan, cost, {1}).total_ns, 90 + 60);
  cost.mates_end_together = false;
  // Second pipeline: F 0-10, its backward waits for the mate: 30-50, then 20 + 40.
  EXPECT_EQ(simulate_pipeline(plan, cost, {1}).total_ns, 50 + 60);
}

TEST(Pipeline, WavesWithoutTokensKeepTheirNumberSoThatNothingWaitsInACircle) {
  Plan plan;
  plan.waves = {
      {{{{0, 0, 5}}, {{0, 5, 10}}}, {}}, {{{{1, 0, 5}}, {}}, {}}, {{{{2, 0, 5}}, {{2, 5, 10}}}, {}}};
  list_rings(plan);
  const PipelineRun run = simulate_pipeline(plan, six_per_token(), {2});
  EXPECT_EQ(run.total_ns, (3 + 1) * 15);
  EXPECT_EQ(run.batches_in_flight, (std::vector<int64_t>{2, 1, 1, 1}));
}

TEST(Pipeline, OneStageTakesAsLongAsRanks) {
  const std::vector<int64_t> lengths{900, 30, 2000, 450, 450, 77, 1200};
  const CostModel cost;
  const Cluster cluster{3, 700, 0};
  const Plan plan = plan_elastic(lengths, cost, cluster);
  const int64_t pipeline = simulate_pipeline(plan, cost, {1}).total_ns,
                ranks = makespan_of(plan, cost).total_ns;
  EXPECT_GE(pipeline, ranks);
  EXPECT_LE(pipeline, ranks + int64_t(plan.waves.size()));  // both parts of a wave round up
}

TEST(Pipeline, NothingToDoTakesNoTime) {
  EXPECT_EQ(simulate_pipeline({}, six_per_token(), {4}).total_ns, 0);
  EXPECT_EQ(pipeline_bound({}, six_per_token(), {2, 10}, {4}), 0);
  EXPECT_TRUE(plan_pipeline({}, six_per_token(), {2, 10}, {4}).waves.empty());
}

TEST(Pipeline, RefusesWhatFitsNowhere) {
  EXPECT_THROW(plan_pipeline({21}, six_per_token(), {2, 10}, {4}), Error);
  EXPECT_NO_THROW(plan_pipeline({20}, six_per_token(), {2, 10}, {4}));
}

TEST(PipelineBound, IsTheBubbleOfTheLargestMicroBatch) {
  // One sample that no cut makes faster on one pipeline: p (f + b).
  EXPECT_EQ(pipeline_bound({10}, six_per_token(), {1, 10}, {4}), 60 - 1);
  // 90 more tokens: W = 150, x = 15 per stage of 10 + 5 ns; (p - 1) (b - f) = 15, and 3 x 1 for the first
  // one's forward of a token, which takes 0.5 ns; less 2 p ns for rounding.
  const std::vector<int64_t> lengths{10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_EQ(pipeline_bound(lengths, six_per_token(), {1, 10}, {4}), 150 + 15 + 1 - 8);
}

}  // namespace
}  // namespace zoetrope
