// zoetrope plan --timeline, and what the simulator adds to its figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/simulate.h"
#include "schedule/trace.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

Finished run(const std::vector<std::string>& more) {
  std::vector<std::string> words{ZT_BINARY, "plan", "--trace", "t2",   "--samples",         "64",
                                 "--ranks", "6",    "--cost",  "pcie", "--tokens-per-rank", "20480",
                                 "--seed",  "3"};
  words.insert(words.end(), more.begin(), more.end());
  return run_process(words);
}

/// Where the last slice of the trace in the file ends, in whole nanoseconds.
int64_t end_of_trace(const std::string& file) {
  const nlohmann::json trace = nlohmann::json::parse(read_file(file));
  int64_t end = 0;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "X")
      end = std::max<int64_t>(end,
                              std::llround(1000 * (event["ts"].get<double>() + event["dur"].get<double>())));
  return end;
}

TEST(PlanTimeline, ShowsTheStepThatTheFiguresAreOf) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/plan.json", timeline = folder.path() + "/timeline.json";
  for (const char* execution : {"free", "waves"}) {
    const Finished finished =
        run({"--json", "--execution", execution, "--plan-out", file, "--timeline", timeline});
    ASSERT_EQ(finished.exit_code, 0) << finished.output;
    const nlohmann::json json = nlohmann::json::parse(testing_support::printed_json(finished));
    const Plan plan = plan_from_json(read_file(file), file);
    const Simulation simulation = simulate(
        plan, find_cost("pcie"), std::string(execution) == "waves" ? Execution::kWaves : Execution::kFree);
    EXPECT_EQ(json["simulated"], simulation.total_ns);
    EXPECT_EQ(json["exposed_max"], figure_of(simulation.exposed_ns).most);
    EXPECT_EQ(json["idle_max"], figure_of(simulation.idle_ns).most);
    EXPECT_DOUBLE_EQ(json["exposed_mean"], figure_of(simulation.exposed_ns).mean);
    EXPECT_DOUBLE_EQ(json["idle_mean"], figure_of(simulation.idle_ns).mean);
    EXPECT_DOUBLE_EQ(json["mfu"], simulation.mfu);
    EXPECT_EQ(end_of_trace(timeline), simulation.total_ns);
  }
}

TEST(PlanTimeline, PipelinesHaveTheSharesOfTheCostSet) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/plan.json", timeline = folder.path() + "/timeline.json";
  const Finished finished = run({"--json", "--stages", "3", "--plan-out", file, "--timeline", timeline});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const nlohmann::json json = nlohmann::json::parse(testing_support::printed_json(finished));
  const CostModel cost = find_cost("pcie");
  const PipelineShape shape = pipeline_shape(cost, 3, trace_lengths(find_trace("t2"), 3, 0, 64));
  const Plan plan = plan_from_json(read_file(file), file);
  EXPECT_EQ(json["makespan"], simulate_pipeline(plan, cost, shape).total_ns);
  EXPECT_EQ(json["simulated"], json["makespan"]);
  EXPECT_EQ(end_of_trace(timeline), json["simulated"]);
}

TEST(PlanTimeline, TheTableHasTheFigures) {
  const Finished finished = run({});
  for (const char* text : {"simulated ms", "exposed", "idle", "MFU"})
    EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
}

TEST(PlanTimeline, WrongUseSaysWhatIsWrong) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--timeline", "/tmp/x.json", "--planner", "all"},
        {"--timeline", "/tmp/x.json", "--steps", "2"}}) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 2) << finished.output;
    EXPECT_NE(finished.output.find("--timeline"), std::string::npos) << finished.output;
  }
  const Finished unwritable = run({"--timeline", "/no/such/folder/x.json"});
  EXPECT_NE(unwritable.exit_code, 0);
  EXPECT_NE(unwritable.output.find("/no/such/folder"), std::string::npos) << unwritable.output;
}

}  // namespace
}  // namespace zoetrope
