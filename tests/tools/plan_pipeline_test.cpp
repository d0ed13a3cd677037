// The plan command for pipelines: figures, files, wrong use.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/cost.h"
#include "schedule/pipeline.h"
#include "schedule/planner.h"
#include "schedule/trace.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

Finished run(const std::vector<std::string>& more) {
  std::vector<std::string> words{ZT_BINARY, "plan", "--trace", "video-mix", "--samples",         "60",
                                 "--ranks", "3",    "--cost",  "ring:1700", "--tokens-per-rank", "40000",
                                 "--seed",  "2"};
  words.insert(words.end(), more.begin(), more.end());
  return run_process(words);
}

TEST(PlanPipelineCommand, PlansForStagesAndWritesWhatItPlanned) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/plan.json";
  const Finished finished = run({"--stages", "4", "--json", "--plan-out", file});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const nlohmann::json json = nlohmann::json::parse(testing_support::printed_json(finished));
  const std::vector<int64_t> lengths = trace_lengths(find_trace("video-mix"), 2, 0, 60);
  const CostModel cost = find_cost("ring:1700");
  const Plan plan = plan_from_json(read_file(file), file);
  EXPECT_EQ(json["planner"], "pipeline");
  EXPECT_EQ(json["execution"], "pipeline");
  EXPECT_EQ(json["stages"], 4);
  EXPECT_EQ(plan, plan_pipeline(lengths, cost, {3, 40000}, {4}));
  EXPECT_EQ(json["makespan"], simulate_pipeline(plan, cost, {4}).total_ns);
  EXPECT_EQ(json["bound"], pipeline_bound(lengths, cost, {3, 40000}, {4}));
  int64_t work = 0;
  for (int64_t each : lengths) work += each * each + 6 * 3072 * each;
  EXPECT_EQ(json["ideal"], work / 12);
}

TEST(PlanPipelineCommand, ComparesAllPlannersOnTheSamePipelines) {
  const Finished finished = run({"--stages", "4", "--json", "--planner", "all"});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const nlohmann::json json = nlohmann::json::parse(testing_support::printed_json(finished));
  EXPECT_EQ(json.back()["planner"], "pipeline");
  for (const nlohmann::json& each : json) {
    EXPECT_EQ(each["bound"], json.back()["bound"]);
    EXPECT_GE(each["makespan"], json.back()["makespan"]) << each["planner"];
  }
  const Finished table = run({"--stages", "4"});
  for (const char* text : {"pipeline of 4 stages", "one forward, one backward", "\npipeline "})
    EXPECT_NE(table.output.find(text), std::string::npos) << text << "\n" << table.output;
}

TEST(PlanPipelineCommand, WrongUseSaysWhatIsWrong) {
  const auto said = [](const std::vector<std::string>& words, const char* text) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 2) << finished.output;
    EXPECT_NE(finished.output.find(text), std::string::npos) << finished.output;
  };
  said({"--planner", "pipeline"}, "--stages");
  said({"--stages", "0"}, "--stages");
  said({"--stages", "2", "--execution", "waves"}, "--execution");
  said({"--stages", "2", "--cp", "3"}, "--cp");
  const Finished finished =
      run_process({ZT_BINARY, "plan", "--trace", "t2", "--samples", "60", "--ranks", "3", "--tokens-per-rank",
                   "40000", "--cost", "h100", "--stages", "41"});
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  EXPECT_NE(finished.output.find("has 40 layers; a stage holds at least one"), std::string::npos)
      << finished.output;
}

}  // namespace
}  // namespace zoetrope
