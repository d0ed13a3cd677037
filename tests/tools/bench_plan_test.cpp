// The table of planners on paper: every list, cost set and execution, and figures that agree with each other.
#include "tools/bench_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "schedule/planner.h"
#include "tests/support/process.h"

namespace zoetrope {
namespace {

const std::string kLists = std::string(ZT_SOURCE_DIR) + "/tests/data/traces";

nlohmann::json rows_of(const PlanBench& bench) {
  testing::internal::CaptureStdout();
  const std::string json = run_bench_plan(bench);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(printed.empty(), bench.json);
  return nlohmann::json::parse(json)["rows"];
}

TEST(BenchPlan, CoversListsCostsExecutionsAndPlanners) {
  PlanBench bench;
  bench.lists = kLists;
  bench.planners = {"static-balanced", "elastic"};
  std::set<std::string> lists, costs, executions, planners;
  const nlohmann::json rows = rows_of(bench);
  for (const auto& row : rows) {
    ASSERT_FALSE(row.contains("failure")) << row;
    lists.insert(row["list"]), costs.insert(row["cost"]);
    executions.insert(row["execution"]), planners.insert(row["planner"]);
    EXPECT_LE(row["efficiency"], row["ceiling"]) << row;
    EXPECT_DOUBLE_EQ(row["efficiency"], row["ideal"].get<double>() / row["makespan"].get<double>());
    EXPECT_EQ(row["largest_ring"] == 1, row["moved"] == 0) << row;
  }
  EXPECT_EQ(lists.size() * costs.size() * executions.size() * planners.size(), rows.size());
  EXPECT_EQ(rows.size(), size_t(5 * 4 * 2 * 2));
}

TEST(BenchPlan, PlansATraceAtAnySize) {
  PlanBench bench;
  bench.samples = 300, bench.ranks = 37, bench.cost = "ring:1700", bench.execution = "free";
  bench.planners = planner_names();
  bench.json = true;
  const nlohmann::json rows = rows_of(bench);
  ASSERT_EQ(rows.size(), planner_names().size());
  EXPECT_EQ(rows.back()["planner"], "elastic");
  const int64_t elastic = rows.back()["makespan"], bound = rows.back()["bound"];
  const int64_t enough = bound + bound / 1024;  // so near the bound the elastic planner stops looking
  for (const auto& row : rows) {
    EXPECT_EQ(row["list"], "video-mix 300x37");
    EXPECT_TRUE(row.contains("failure") || elastic <= enough || row["makespan"] >= elastic) << row;
  }
  bench.tokens_per_rank = 1;
  EXPECT_THROW(run_bench_plan(bench), Error);
}

TEST(BenchPlan, TheCommandWritesItsTable) {
  const auto run = [](std::vector<std::string> more) {
    more.insert(more.begin(), {ZT_BINARY, "bench", "plan"});
    return testing_support::run_process(more);
  };
  const auto table =
      run({"--lists", kLists, "--planner", "elastic", "--cost", "square", "--execution", "free"});
  EXPECT_EQ(table.exit_code, 0) << table.output;
  EXPECT_NE(table.output.find("lognormal-16384-1.1-n512-g32 square"), std::string::npos) << table.output;
  EXPECT_EQ(run({"--samples", "9"}).exit_code, 2);
  EXPECT_EQ(run({"--lists", "nowhere"}).exit_code, 3);
}

}  // namespace
}  // namespace zoetrope
