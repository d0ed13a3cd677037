// The parts of `bench cp` that need no run: summation variants, rows, picture.
#include "tools/bench_cp.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/synthetic_batch.h"

namespace zoetrope {
namespace {

PlannedStep step_of(Plan plan, std::vector<int64_t> lengths, int64_t tokens) {
  PlannedStep step;
  step.plan = std::move(plan);
  step.lengths = std::move(lengths);
  step.total_tokens = tokens;
  step.makespan_ns = 12, step.bound_ns = 10;
  step.cp_sizes = cp_sizes_of(step.plan);
  return step;
}

TEST(SummationVariants, AreValidPlansOfTheSameBatch) {
  const std::vector<int64_t> lengths{9, 4, 5, 1};
  Plan plan;
  plan.waves.push_back({{{{0, 0, 5}, {1, 0, 4}}, {{0, 5, 9}, {2, 0, 5}}}, {}});
  plan.waves.push_back({{{{3, 0, 1}}, {}}, {}});
  list_rings(plan);
  const Cluster cluster{2, 10, 0};
  const std::vector<PlannedStep> variants = summation_variants(step_of(plan, lengths, 19), cluster);
  ASSERT_EQ(variants.size(), 3u);
  for (const PlannedStep& variant : variants) {
    EXPECT_NO_THROW(validate_plan(variant.plan, lengths, 2));
    EXPECT_LE(max_tokens_per_slot(variant.plan), cluster.tokens_per_slot);
    EXPECT_NE(variant.plan, plan);
    EXPECT_EQ(variant.plan_hash, hash_of(variant.plan));
  }
}

TEST(SummationVariants, LeaveABoundaryWhereNoTokenCanMove) {
  Plan plan = plan_of_one_ring(2, 2);
  const std::vector<PlannedStep> variants = summation_variants(step_of(plan, {2}, 2), {2, 1, 0});
  EXPECT_EQ(variants[2].plan, plan);
}

CpMeasurement measured(std::vector<double> wall, double replayed) {
  CpMeasurement m;
  m.steps.resize(1);
  for (const double seconds : wall) m.steps[0].push_back({seconds, 0.01, replayed, 0.02, 1.25, 0.5});
  return m;
}

TEST(CpRows, AreMediansAndRatiosToTheFastestStatic) {
  const PlannedStep whole = step_of(plan_of_equal_slots(2, {50}), {50, 50}, 100);
  const PlannedStep split = step_of(plan_of_one_ring(2, 100), {100}, 100);
  const std::vector<CpEntry> entries{{"static", 1, true, {whole}, {3000014}},
                                     {"static-balanced", 2, false, {split}},
                                     {"elastic", 0, false, {whole}}};
  const std::vector<CpMeasurement> m{measured({0.4, 0.5, 9.0}, 0.55), measured({0.25, 0.2, 0.3}, 0.25),
                                     measured({0.2}, 0.21)};
  CpSetting setting;
  setting.optimizer_ns = 3e6;
  std::vector<CpRow> rows = make_rows(entries, m, setting);
  EXPECT_DOUBLE_EQ(rows[0].step_ms, 500);
  EXPECT_DOUBLE_EQ(rows[0].tokens_per_s, 200);
  EXPECT_DOUBLE_EQ(rows[1].tokens_per_s, 400);
  EXPECT_DOUBLE_EQ(rows[0].ratio_to_best_static, 0.5);
  EXPECT_DOUBLE_EQ(rows[2].ratio_to_best_static, 1.25);
  EXPECT_DOUBLE_EQ(rows[2].ratio_to_best_plain, 2.5);
  EXPECT_DOUBLE_EQ(rows[0].replay_over_wall, 1.1);
  EXPECT_DOUBLE_EQ(rows[0].exposed_wait_ms, 10);
  EXPECT_DOUBLE_EQ(rows[0].makespan_over_bound, 1.2);
  EXPECT_EQ(rows[0].kind, "wall");
  EXPECT_DOUBLE_EQ(rows[0].spread, 2 * 0.1 / 0.5);
  EXPECT_DOUBLE_EQ(rows[2].spread, 0);
  EXPECT_DOUBLE_EQ(rows[0].simulated_ms, 14e-6 + 3);
  EXPECT_DOUBLE_EQ(rows[0].simulated_over_measured, (14e-6 + 3) / 500);
  EXPECT_DOUBLE_EQ(rows[0].makespan_over_measured, (12e-6 + 3) / 500);
  setting.is_wall = false;
  rows = make_rows(entries, m, setting);
  EXPECT_DOUBLE_EQ(rows[0].step_ms, 550);
  EXPECT_DOUBLE_EQ(rows[0].exposed_wait_ms, 20);
  EXPECT_EQ(rows[0].kind, "replayed");

  const nlohmann::json json = nlohmann::json::parse(rows_to_json({}, rows));
  for (const char* key : {"planner", "cp_size", "kind", "step_ms", "tokens_per_s", "exposed_wait_ms",
                          "rank_max_over_mean", "makespan_over_bound", "loss", "ratio_to_best_static",
                          "spread", "simulated_ms", "simulated_over_measured"})
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  EXPECT_EQ(json["rows"][1]["cp_size"], 2);
  EXPECT_TRUE(json["rows"][2]["cp_size"].is_null());
}

CpRow timed(const char* planner, double step_ms, double spread, double simulated_ms) {
  CpRow row;
  row.planner = planner;
  row.step_ms = step_ms;
  row.spread = spread;
  row.simulated_ms = simulated_ms;
  row.simulated_over_measured = simulated_ms / step_ms;
  return row;
}

TEST(CpOrder, ComparesPairsThatDifferByMoreThanThreePercentAndTwiceTheSpread) {
  CpOrder order = judge_order({timed("a", 100, 0, 90), timed("b", 102, 0, 80), timed("c", 105, 0, 108)});
  EXPECT_EQ(order.pairs, 1);  // b, c differ by less than 3 %
  EXPECT_EQ(order.right, 1);
  EXPECT_DOUBLE_EQ(order.least_ratio, 80.0 / 102);
  EXPECT_DOUBLE_EQ(order.largest_ratio, 108.0 / 105);
  EXPECT_EQ(judge_order({timed("a", 100, 0.03, 1), timed("c", 105, 0, 2)}).pairs, 0);
  order = judge_order({timed("slow", 200, 0.1, 99), timed("fast", 100, 0.1, 99)});
  EXPECT_EQ(order.pairs, 1);
  EXPECT_EQ(order.right, 0);
  ASSERT_EQ(order.wrong.size(), 1u);
  EXPECT_LT(order.wrong[0].find("fast"), order.wrong[0].find("slow"));
  EXPECT_EQ(judge_order({}).pairs, 0);
}

TEST(Timeline, ShowsEverySpan) {
  CpMeasurement m = measured({0.1}, 0.1);
  m.timeline.total_ns = 100;
  m.timeline.busy_ns = {60, 40};
  m.timeline.spans = {{{ReplaySpan::kCompute, 0, 60, 0}, {ReplaySpan::kCollective, 60, 100, 0}},
                      {{ReplaySpan::kCompute, 0, 40, 1}, {ReplaySpan::kWait, 40, 100, 1}}};
  const std::string html =
      timeline_html({{"elastic", 0, false, {step_of(plan_of_equal_slots(2, {5}), {5, 5}, 10)}}}, {m});
  size_t bars = 0;
  for (size_t at = html.find(" ms</title>"); at != std::string::npos; at = html.find(" ms</title>", at + 1))
    ++bars;
  EXPECT_EQ(bars, 4u);
  EXPECT_EQ(html.find("http"), std::string::npos);  // self-contained
}

}  // namespace
}  // namespace zoetrope
