// Plans and their figures against tools/check_plan.py, which shares no code with the product.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

/// A problem in a file, as both programs read it.
struct Case {
  std::string lengths, cost, execution;
  int64_t num_slots, tokens_per_slot;
  std::vector<std::string> flags() const {
    return {"--ranks",
            std::to_string(num_slots),
            "--tokens-per-rank",
            std::to_string(tokens_per_slot),
            "--cost",
            cost,
            "--execution",
            execution};
  }
};

bool has_python() { return run_process({"/bin/sh", "-c", "command -v python3"}).exit_code == 0; }

Finished check(const Case& problem, const std::string& folder) {
  std::vector<std::string> words{"python3",       std::string(ZT_SOURCE_DIR) + "/tools/check_plan.py",
                                 problem.lengths, folder + "/plan.json",
                                 "--report",      folder + "/report.json"};
  const std::vector<std::string> flags = problem.flags();
  words.insert(words.end(), flags.begin(), flags.end());
  return run_process(words);
}

/// Plans into the folder. Returns the exit code: a planner may not fit a case.
int plan(const Case& problem, const std::string& planner, const std::string& folder) {
  std::string words = std::string(ZT_BINARY) + " plan --lengths " + problem.lengths + " --planner " +
                      planner + " --json --plan-out " + folder + "/plan.json";
  for (const std::string& flag : problem.flags()) words += " " + flag;
  const Finished finished = run_process({"/bin/sh", "-c", words + " > " + folder + "/report.json"});
  EXPECT_TRUE(finished.exit_code == 0 || (finished.exit_code == 3 && planner != "elastic"))
      << finished.output;
  return finished.exit_code;
}

std::vector<Case> cases(const std::string& folder) {
  const std::string lists = std::string(ZT_SOURCE_DIR) + "/tests/data/traces/";
  write_file_atomically(folder + "/tiny.csv", "tokens\n5000\n900\n1\n70\n2222\n");
  return {{lists + "video-mix-n128-g16.csv", "ring:1700", "free", 16, 16384},
          {lists + "video-mix-n128-g16.csv", "ring:11000", "waves", 16, 16384},
          {lists + "lognormal-1024-1.5-n256-g64.csv", "ring:1700", "free", 64, 2048},
          {lists + "lognormal-1024-1.5-n256-g64.csv", "square-linear", "waves", 64, 2048},
          {lists + "lognormal-16384-1.1-n512-g32.csv", "ring:11000", "free", 32, 16384},
          {lists + "lognormal-16384-1.1-n512-g32.csv", "square", "free", 33, 16384},
          {folder + "/tiny.csv", "ring:1700", "free", 7, 1500},
          {folder + "/tiny.csv", "ring:11000", "waves", 7, 1500}};
}

TEST(CheckPlan, AgreesWithEveryPlanner) {
  if (!has_python()) GTEST_SKIP() << "python3 is not installed; tools/check_plan.py needs it";
  const TemporaryFolder folder;
  int checked = 0;
  for (const Case& problem : cases(folder.path()))
    for (const std::string& planner : planner_names()) {
      if (plan(problem, planner, folder.path()) != 0) continue;
      const Finished finished = check(problem, folder.path());
      EXPECT_EQ(finished.exit_code, 0) << planner << " on " << problem.lengths << ", " << problem.cost << ", "
                                       << problem.execution << ": " << finished.output;
      ++checked;
    }
  EXPECT_GE(checked, int(cases(folder.path()).size()));  // the default plans them all
}

TEST(CheckPlan, FindsPlantedFaults) {
  if (!has_python()) GTEST_SKIP() << "python3 is not installed; tools/check_plan.py needs it";
  const TemporaryFolder folder;
  const Case problem = cases(folder.path())[6];
  ASSERT_EQ(plan(problem, "elastic", folder.path()), 0);
  ASSERT_EQ(check(problem, folder.path()).exit_code, 0);
  const std::string plan_path = folder.path() + "/plan.json", report_path = folder.path() + "/report.json",
                    report = read_file(report_path);
  for (const char* key :
       {"makespan", "ideal", "moved", "waves", "max_tokens_per_rank", "split_samples", "largest_ring"}) {
    auto changed = nlohmann::json::parse(report);
    changed[key] = changed[key].get<double>() + 1;
    write_file_atomically(report_path, changed.dump());
    const Finished finished = check(problem, folder.path());
    EXPECT_EQ(finished.exit_code, 1) << key;
    EXPECT_NE(finished.output.find(key), std::string::npos) << finished.output;
  }
  write_file_atomically(report_path, report);
  const std::string text = read_file(plan_path);
  auto lost = nlohmann::json::parse(text);  // a token of the first shard that there is
  for (auto& slot : lost["waves"][0]["slots"])
    if (!slot.empty()) {
      slot[0][2] = slot[0][2].get<int64_t>() - 1;
      break;
    }
  write_file_atomically(plan_path, lost.dump());
  EXPECT_EQ(check(problem, folder.path()).exit_code, 1);
  write_file_atomically(plan_path, text);
  Case narrow = problem;
  narrow.tokens_per_slot = 100;
  EXPECT_EQ(check(narrow, folder.path()).exit_code, 1);
}

}  // namespace
}  // namespace zoetrope
