// The scale study: its figures agree with plans made one by one, and nothing is left out unsaid.
#include "tools/bench_scale.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/planner.h"
#include "schedule/simulate.h"
#include "schedule/trace.h"
#include "tests/support/markup.h"
#include "tests/support/process.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

ScaleBench small_bench() {
  ScaleBench bench;
  bench.gpus = {8, 24};
  bench.costs = {"h100", "pcie:wan-1.3b"};
  bench.prints = false;
  return bench;
}

TEST(BenchScale, FiguresAreThoseOfThePlans) {
  const ScaleBench bench = small_bench();
  const std::vector<ScaleRow> rows = run_bench_scale(bench);
  ASSERT_EQ(rows.size(), 2u * 2u * 2u);
  for (const ScaleRow& row : rows) {
    SCOPED_TRACE(
        format_text("%s %s %lld", row.cost.c_str(), row.trace.c_str(), static_cast<long long>(row.gpus)));
    EXPECT_EQ(row.steps + row.left_out, scale_steps(row.samples));
    const CostModel cost = find_cost(row.cost);
    const Cluster cluster{row.gpus, bench.tokens_per_rank};
    std::vector<int64_t> sums(row.planners.size(), 0), simulated(row.planners.size(), 0);
    int64_t left_out = 0;
    for (int64_t step = 0; step < row.steps + row.left_out; ++step) {
      const std::vector<int64_t> lengths =
          trace_lengths(find_trace(row.trace), 0, step * row.samples, row.samples);
      if (*std::max_element(lengths.begin(), lengths.end()) > row.gpus * bench.tokens_per_rank) {
        ++left_out;
        continue;
      }
      for (size_t i = 0; i < sums.size(); ++i) {  // size 0: the fastest of all feasible ones
        const Plan plan = make_plan({row.planners[i].planner, 0}, lengths, cost, cluster);
        sums[i] += makespan_of(plan, cost).total_ns;
        simulated[i] += simulate(plan, cost).total_ns;
      }
    }
    EXPECT_EQ(left_out, row.left_out);
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(row.planners[i].total_ns, sums[i]) << row.planners[i].planner;
      EXPECT_EQ(row.planners[i].simulated_ns, simulated[i]) << row.planners[i].planner;
    }
    if (row.steps == 0) continue;
    EXPECT_GE(row.ratio(), 1);
    EXPECT_DOUBLE_EQ(row.planned_speed_up("static"), double(sums[0]) / double(sums[3]));
    EXPECT_DOUBLE_EQ(row.speed_up("greedy-waves"), double(simulated[2]) / double(simulated[3]));
    const ScalePlanner& ours = row.planner("elastic");
    EXPECT_GT(ours.mfu, 0);
    EXPECT_LT(ours.mfu + ours.idle + ours.exposed, 1);
  }
}

TEST(BenchScale, StepsThatDoNotFitAreCounted) {
  ScaleBench bench = small_bench();
  bench.gpus = {8}, bench.traces = {"t9"}, bench.costs = {"h100"};
  bench.tokens_per_rank = 20000;  // 8 of them hold 160,000 tokens, and t9 has samples of 432,000
  bench.samples_per_gpu = 64;
  const std::vector<ScaleRow> rows = run_bench_scale(bench);
  EXPECT_EQ(rows[0].steps, 0);
  EXPECT_EQ(rows[0].left_out, scale_steps(512));
  EXPECT_EQ(rows[0].longest_left_out, 432000);
  EXPECT_EQ(rows[0].speed_up("static"), 0);
  EXPECT_NE(scale_markdown(rows).find("| h100 | t9 | 8 | - | - | - | - |"), std::string::npos);
  EXPECT_NE(scale_html(bench, rows).find("sample of 432,000 tokens"), std::string::npos);
}

TEST(BenchScale, TheCommandWritesTableJsonAndPage) {
  const std::string stem = testing::TempDir() + "/scale-" + std::to_string(getpid());
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {ZT_BINARY, "bench", "scale"});
    return testing_support::run_process(more);
  };
  const auto answer =
      run({"--gpus", "8,16", "--trace", "t2", "--html", stem + ".html", "--out", stem + ".json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.output;
  EXPECT_NE(answer.output.find("| h100 | t2 | 16 |"), std::string::npos) << answer.output;
  const auto json = nlohmann::json::parse(read_file(stem + ".json"));
  ASSERT_EQ(json["rows"].size(), 4u);
  const std::string html = read_file(stem + ".html");
  EXPECT_EQ(testing_support::markup_fault(html), "");
  EXPECT_EQ(testing_support::foreign_reference(html), "");
  for (const auto& row : json["rows"])
    EXPECT_NE(html.find(format_text("<td class=\"n\">%.2f</td>", row["speed_up"]["static"].get<double>())),
              std::string::npos);
  const auto nothing = run({"--gpus", "8", "--trace", "t2", "--tokens-per-rank", "1"});
  EXPECT_EQ(nothing.exit_code, 3) << nothing.output;
  EXPECT_NE(nothing.output.find("nothing could be planned"), std::string::npos) << nothing.output;
  EXPECT_EQ(run({"--gpus", "8,x"}).exit_code, 2);
  for (const char* flag : {"--timeline", "--seeds", "--ranks", "--planner"}) {  // of other benchmarks
    const auto finished = run({"--gpus", "8", flag, "3"});
    EXPECT_EQ(finished.exit_code, 2) << flag;
    EXPECT_NE(finished.output.find(flag), std::string::npos) << finished.output;
  }
  EXPECT_EQ(run({"--gpus", "16384", "--samples-per-gpu", "5"}).exit_code, 2);
  EXPECT_EQ(run({"--trace", "nothing", "--gpus", "8"}).exit_code, 2);
}

}  // namespace
}  // namespace zoetrope
