// The table of planners on traces and clusters with nodes: all rows are there, and agree with `zoetrope
// plan`.
#include "tools/bench_traces.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "schedule/planner.h"
#include "tests/support/process.h"

namespace zoetrope {
namespace {

TEST(BenchTraces, AgreesWithThePlanCommand) {
  TracesBench bench;
  bench.hardware = {"h100"}, bench.executions = {"free"}, bench.num_seeds = 1, bench.prints = false;
  bench.traces = {"T5", "T3c"};
  const std::vector<TracesRow> rows = run_bench_traces(bench);
  ASSERT_EQ(rows.size(), 2 * planner_names().size());
  for (const TracesRow& row : rows)
    EXPECT_GE(row.makespan_ns, row.bound_ns) << row.trace << " " << row.planner;
  const auto parsed = nlohmann::json::parse(traces_json(rows));
  EXPECT_EQ(parsed["rows"].size(), rows.size());
  const testing_support::Finished result = testing_support::run_process(
      {ZT_BINARY, "plan", "--trace", "t5", "--samples", "512", "--ranks", "64", "--tokens-per-rank", "8192",
       "--planner", "elastic", "--cost", "h100:text-7b", "--json", "--seed", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto plan = nlohmann::json::parse(testing_support::printed_json(result));
  int found = 0;
  for (const TracesRow& row : rows)
    if (row.trace == "T5" && row.planner == "elastic") {
      EXPECT_EQ(row.makespan_ns, plan["makespan"]);
      EXPECT_EQ(row.bound_ns, plan["bound"]);
      ++found;
    }
  EXPECT_EQ(found, 1);
  const std::string table = traces_markdown(bench, rows);
  EXPECT_NE(table.find("| trace | h100 free |"), std::string::npos) << table;
  EXPECT_NE(table.find("| T3c | **"), std::string::npos) << table;
}

TEST(BenchTraces, UnknownNamesAreRefusedBeforeAnythingIsPlanned) {
  TracesBench bench;
  bench.hardware = {"nothing"};
  EXPECT_THROW(run_bench_traces(bench), UsageError);
  bench.hardware = {"h100"}, bench.traces = {"T5", "t5"};
  EXPECT_THROW(run_bench_traces(bench), UsageError);
}

}  // namespace
}  // namespace zoetrope
