#include "tools/plan_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "tools/length_file.h"

namespace zoetrope {
namespace {

PlanProblem small_problem() {
  PlanProblem problem;
  problem.lengths = {900, 100, 250, 40};
  problem.samples = {5, 6, 7, 8};
  problem.cost = find_cost("data-sheet");
  problem.cluster = {4, 500, 0};
  return problem;
}

TEST(PlanReport, JsonHoldsTheFigures) {
  const PlanProblem problem = small_problem();
  const std::vector<PlanReport> reports = report_planner(problem, {"elastic", 0});
  ASSERT_EQ(reports.size(), 1u);
  const auto json = nlohmann::json::parse(report_json(problem, reports[0]));
  for (const char* key : {"makespan", "bound", "ideal", "ratio", "plan_ms", "max_tokens_per_rank", "waves",
                          "moved", "split_samples", "largest_ring", "planner", "cp", "ranks", "dropped"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["dropped"], 0);
  EXPECT_GE(json["ratio"].get<double>(), 1);
  EXPECT_LE(json["max_tokens_per_rank"].get<int64_t>(), 500);
  EXPECT_GE(json["split_samples"].get<int64_t>(), 1);  // 900 tokens fit no rank
}

TEST(PlanReport, StaticPlannersShowEveryFeasibleSize) {
  const std::vector<PlanReport> reports = report_planner(small_problem(), {"static", 0});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].cp, 2);
  EXPECT_EQ(reports[1].cp, 4);
  EXPECT_TRUE(reports[0].smallest);
  EXPECT_EQ(reports[0].fastest + reports[1].fastest, 1);
  // All samples on two ranks: each token range moves to one mate.
  EXPECT_DOUBLE_EQ(reports[0].moved, 1);
  EXPECT_DOUBLE_EQ(reports[1].moved, 3);
  EXPECT_EQ(reports[1].largest_ring, 4);
  EXPECT_NE(summary_table(reports).find("<- smallest that fits"), std::string::npos);
}

TEST(PlanReport, LargeSizesThatAreSlowerForSureAreNotPlanned) {
  PlanProblem problem;
  problem.lengths.assign(1100, 2048);
  problem.samples.resize(problem.lengths.size());
  problem.cost = find_cost("h100");
  problem.cluster = {1024, 4096, 0};
  const std::vector<PlanReport> reports = report_planner(problem, {"static-balanced", 0});
  const PlanReport& fastest = fastest_of(reports);
  ASSERT_EQ(fastest.slower_cp, std::vector<int64_t>{1024});
  EXPECT_EQ(reports.back().cp, 512);
  EXPECT_GT(report_plan(problem, {"static-balanced", 1024}).makespan.total_ns, fastest.makespan.total_ns);
  EXPECT_NE(summary_table(reports).find("CP sizes 1024 were not planned"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(report_json(problem, fastest))["slower_cp"][0], 1024);
}

TEST(PlanReport, MoreShardsThanAPlanCanHoldAreRefused) {
  PlanProblem problem;
  problem.lengths.assign(4096, 20'000);
  problem.samples.resize(problem.lengths.size());
  problem.cost = find_cost("h100");
  problem.cluster = {16384, 4096, 0};
  try {
    report_planner(problem, {"static", 16384});
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("smaller --cp"), std::string::npos) << error.what();
  }
}

TEST(PlanReport, RankTableNamesSamplesOfTheDataSet) {
  const PlanProblem problem = small_problem();
  const std::string table = rank_table(problem, report_planner(problem, {"static-balanced", 2})[0]);
  EXPECT_NE(table.find("#5 [450, 900) of 900 on 2"), std::string::npos) << table;
  EXPECT_EQ(table.find("#0"), std::string::npos) << table;
}

TEST(PlanReport, ASampleThatFitsNowhereIsAnError) {
  PlanProblem problem = small_problem();
  problem.cluster = {4, 200, 0};
  for (const std::string& planner : planner_names())
    EXPECT_THROW(report_planner(problem, {planner, 0}), Error) << planner;
}

std::vector<int64_t> read_text(const std::string& text) {
  const std::string path = testing::TempDir() + "/lengths.csv";
  write_file_atomically(path, text);
  return read_length_file(path);
}

TEST(LengthFile, ReadsPlainNumbersAndCsv) {
  const std::vector<int64_t> expected{12, 7};
  EXPECT_EQ(read_text("12\n7\n"), expected);
  EXPECT_EQ(read_text("12\r\n7"), expected);
  EXPECT_EQ(read_text("tokens\n12\n7\n\n"), expected);
  EXPECT_EQ(read_text("name,tokens\n\"a\",12\nb, 7\n"), expected);
}

TEST(LengthFile, RefusesEverythingElse) {
  for (const char* text : {"", "tokens\n", "length\n3\n", "3\n\n4\n", "3\n-4\n", "3\n0\n", "3\n4.5\n",
                           "a,tokens\n4\n", "3\n99999999999999999999\n"})
    EXPECT_THROW(read_text(text), Error) << text;
}

}  // namespace
}  // namespace zoetrope
