// The measuring commands, run for real on a tiny model: what they write can be read, and what must agree
// agrees.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/cost.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "tools/launch.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::SmallDataset;
using testing_support::TemporaryFolder;

const std::string kConfig = std::string(ZT_SOURCE_DIR) + "/configs/tiny.toml";

nlohmann::json bench_cp(const SmallDataset& data, int ranks, std::vector<std::string> more) {
  const TemporaryFolder folder;
  std::vector<std::string> command{ZT_BINARY,     "bench",   "cp",
                                   "--config",    kConfig,   "--data",
                                   data.folder(), "--ranks", std::to_string(ranks),
                                   "--steps",     "2",       "--batches",
                                   "3",           "--out",   folder.path() + "/bench.json"};
  command.insert(command.end(), more.begin(), more.end());
  const Finished finished = run_process(command);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  if (finished.exit_code != 0) return {};
  return nlohmann::json::parse(read_file(folder.path() + "/bench.json"));
}

/// Losses of all rows agree, and static rows are ratios to the best of them.
void check_rows(const nlohmann::json& report, int ranks) {
  const std::string kind = ranks <= available_cores() ? "wall" : "replayed";
  double best = 0;
  for (const auto& row : report.at("rows")) {
    EXPECT_EQ(row.at("kind"), kind);
    EXPECT_GT(row.at("step_ms").get<double>(), 0);
    EXPECT_GE(row.at("makespan_over_bound").get<double>(), 1);
    EXPECT_GE(row.at("rank_max_over_mean").get<double>(), 1);
    const double first = report.at("rows")[0].at("loss").get<double>();
    EXPECT_LE(std::abs(row.at("loss").get<double>() / first - 1), report.at("loss_tolerance").get<double>());
    if (row.at("planner").get<std::string>().starts_with("static"))
      best = std::max(best, row.at("ratio_to_best_static").get<double>());
  }
  EXPECT_EQ(best, 1);
}

TEST(BenchCp, RunsEveryPlannerAtEveryFeasibleSize) {
  const SmallDataset data;
  const nlohmann::json report = bench_cp(data, 2, {"--cost", "data-sheet"});
  ASSERT_TRUE(report.contains("rows"));
  std::vector<std::string> names;
  for (const auto& row : report["rows"])
    names.push_back(row["planner"].get<std::string>() +
                    (row["cp_size"].is_null() ? "" : row["cp_size"].dump()));
  EXPECT_EQ(names, (std::vector<std::string>{"static1", "static2", "static-balanced1", "static-balanced2",
                                             "greedy-waves", "bags", "dynamic", "elastic"}));
  EXPECT_TRUE(report["rows"][0]["smallest_that_fits"]);
  check_rows(report, 2);
}

TEST(BenchCp, ReplaysWithMoreRanksThanCoresAndOnASlowLink) {
  const SmallDataset data;
  const nlohmann::json report =
      bench_cp(data, 3, {"--cost", "data-sheet", "--planner", "static,elastic", "--link-hides", "1700"});
  ASSERT_TRUE(report.contains("rows"));
  EXPECT_EQ(report["rows"].size(), 3u);
  EXPECT_GT(report["link_bytes_per_s"].get<double>(), 0);
  check_rows(report, 3);
}

TEST(BenchCp, RefusesWhatItDoesNotKnow) {
  const auto run = [](std::vector<std::string> more) {
    std::vector<std::string> command{ZT_BINARY, "bench"};
    command.insert(command.end(), more.begin(), more.end());
    return run_process(command);
  };
  EXPECT_EQ(run({"cp"}).exit_code, 2);
  EXPECT_EQ(run({"something"}).exit_code, 2);
  const Finished finished = run({"cp", "--data", "nowhere", "--planner", "elastic,clever"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.output.find("'clever'"), std::string::npos) << finished.output;
}

TEST(BenchOps, WritesItsRowsToTheFileBesideTheTable) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/ops.json";
  const Finished finished = run_process({ZT_BINARY, "bench", "ops", "--config", kConfig, "--tokens", "64",
                                         "--threads-per-rank", "1", "--out", out});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_NE(finished.output.find("sum of a step"), std::string::npos) << finished.output;
  const nlohmann::json report = nlohmann::json::parse(read_file(out));
  EXPECT_EQ(report.at("bench"), "ops");
  EXPECT_GT(report.at("peak_flops_per_second"), 0);
  ASSERT_FALSE(report.at("rows").empty());
  for (const nlohmann::json& row : report.at("rows")) {
    EXPECT_GT(row.at("seconds"), 0) << row;
    EXPECT_NE(finished.output.find(row.at("name")), std::string::npos) << row;
  }
}

TEST(Profile, WritesACostSetThatCanBeRead) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/cost.toml";
  for (const char* ranks : {"1", "2"}) {
    // One thread: steps are timed by its CPU clock, whatever else the machine does. Seconds enough for a fit
    // in a build with sanitizers on a busy machine.
    const Finished finished = run_process({ZT_BINARY, "profile", "--config", kConfig, "--out", file,
                                           "--seconds", "5", "--ranks", ranks, "--threads-per-rank", "1"});
    ASSERT_EQ(finished.exit_code, 0) << finished.output;
    const CostModel cost = read_cost(file);
    EXPECT_GT(cost.linear_ns, 0);
    EXPECT_GT(cost.gemm_flops, 0);
    EXPECT_GT(cost.optimizer_ns, 0);
    EXPECT_GT(cost.memory_per_rank, 0);
    EXPECT_EQ(cost.ranks_per_node, std::atoi(ranks));
    EXPECT_EQ(cost.date.size(), 10u);
    EXPECT_GT(cost.num_layers, 0);
    EXPECT_GT(cost.linear_forward_ns, 0);
    EXPECT_LT(cost.linear_forward_ns, cost.linear_ns);
    EXPECT_GT(cost.linear_flops, 0);
    EXPECT_GT(cost.quadratic_flops, 0);
    EXPECT_GT(cost.fit_error, 0);
    EXPECT_EQ(read_file(file).rfind("# Measured by `zoetrope profile` on " + cost.date, 0), 0u);
    if (cost.ranks_per_node > 1) {
      EXPECT_GT(cost.transfer_ns, 0);
      EXPECT_GT(cost.allreduce_ns, 0);
    }
  }
  EXPECT_EQ(run_process({ZT_BINARY, "profile"}).exit_code, 2);
}

}  // namespace
}  // namespace zoetrope
