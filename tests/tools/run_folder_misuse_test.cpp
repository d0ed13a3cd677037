// Run folders as they are found in real life: used by another training, with leftovers of a crash, or with
// something else under the names that a run needs. The real binary says so before it trains.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/files.h"
#include "tests/support/training.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

class RunFolderMisuse : public testing::Test {
 protected:
  /// The command fails with this code, and its error says each of the texts.
  void expect_refused(const std::vector<std::string>& flags, int exit_code,
                      const std::vector<std::string>& said) const {
    const Finished finished = fixture_.train(run_, flags);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
    const size_t at = finished.output.find("error: ");
    ASSERT_NE(at, std::string::npos) << finished.output;
    EXPECT_EQ(finished.output.find("step 1/"), std::string::npos) << finished.output;
    for (const std::string& text : said)
      EXPECT_NE(finished.output.find(text, at), std::string::npos) << text << "\n" << finished.output;
  }
  TrainingFixture fixture_;
  const std::string run_ = fixture_.run("run");
};

TEST_F(RunFolderMisuse, OneTrainingAtATime) {
  Process first(fixture_.command(run_, {"--steps", "1000000", "--checkpoint-every", "1"}));
  while (!fs::exists(run_ + "/checkpoints/step-000002/DONE"))
    ASSERT_FALSE(first.wait_for(std::chrono::milliseconds(1))) << first.output();
  expect_refused({"--steps", "3", "--resume", "auto"}, 3,
                 {"another training uses the run folder '" + run_, "process "});
  expect_refused({"--steps", "3", "--resume", "auto", "--ranks", "2"}, 3,
                 {"another training uses the run folder"});
  EXPECT_FALSE(first.wait_for(std::chrono::milliseconds(0))) << first.output();
}

TEST_F(RunFolderMisuse, LeftoversOfAnInterruptedSaveGo) {
  const std::string leftover = run_ + "/checkpoints/step-000007.partial";
  fs::create_directories(leftover);
  write_file_atomically(leftover + "/model.safetensors", "half");
  const Finished finished = fixture_.train(run_, {"--steps", "1", "--resume", "auto"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_NE(finished.output.find("removing " + leftover), std::string::npos) << finished.output;
}

TEST_F(RunFolderMisuse, SomethingElseInTheWayIsFoundBeforeTraining) {
  write_file_atomically(run_, "");
  expect_refused({"--steps", "2"}, 3, {run_, "Not a directory"});
  fs::remove(run_);
  fs::create_directories(run_);
  write_file_atomically(run_ + "/checkpoints", "");
  expect_refused({"--steps", "2"}, 3, {run_ + "/checkpoints"});
}

TEST_F(RunFolderMisuse, ResumeFromAnOlderStepWouldMixTwoCourses) {
  ASSERT_EQ(fixture_.train(run_, {"--steps", "4", "--checkpoint-every", "2"}).exit_code, 0);
  const std::string older = run_ + "/checkpoints/step-000002", newest = run_ + "/checkpoints/step-000004";
  expect_refused({"--steps", "6", "--resume", older}, 2,
                 {older, "already goes on to " + newest, "another --run"});
  EXPECT_EQ(fixture_.train(run_, {"--steps", "5", "--resume", newest}).exit_code, 0);
  EXPECT_EQ(fixture_.train(fixture_.run("other"), {"--steps", "3", "--resume", older}).exit_code, 0);
}

TEST_F(RunFolderMisuse, ADataSetIsNoRunFolderAndNoCheckpoint) {
  const std::string data = fixture_.data().folder(), link = fixture_.run("link");
  fs::create_directory_symlink(data, link);
  const auto listing = [&] {
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(data)) paths.insert(entry.path());
    return paths;
  };
  const std::set<std::string> before = listing();
  for (const std::string& run : {data, data + "/", data + "/run", data + "/a/../b/", link, link + "/run"})
    for (const char* ranks : {"1", "2"}) {
      const Finished finished = fixture_.train(run, {"--steps", "1", "--ranks", ranks});
      EXPECT_EQ(finished.exit_code, 2) << run << ": " << finished.output;
      for (const std::string& text : {"error: --run '" + run + "' lies in the data set '" + data + "'",
                                      std::string("a folder beside the data set")})
        EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
    }
  EXPECT_EQ(listing(), before);
  fs::create_directories(run_);
  fs::create_directory_symlink(fs::path(data).parent_path(), run_ + "/checkpoints");
  expect_refused({"--steps", "1"}, 2, {"'" + data + "' lies in '" + run_ + "/checkpoints'", "another --run"});
  EXPECT_EQ(listing(), before);
}

TEST_F(RunFolderMisuse, ADataSetBesideTheCheckpointsIsFine) {
  fs::create_directories(run_);
  fs::copy(fixture_.data().folder(), run_ + "/data", fs::copy_options::recursive);
  std::vector<std::string> words = fixture_.command(run_, {"--steps", "1"});
  std::replace(words.begin(), words.end(), fixture_.data().folder(), run_ + "/data");
  const Finished finished = run_process(words);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  const std::string alike = fixture_.data().folder() + "-run";  // a longer name is no folder below
  EXPECT_EQ(fixture_.train(alike, {"--steps", "1"}).exit_code, 0);
}

TEST_F(RunFolderMisuse, FewerStepsThanTheCheckpointHasAreNotCalledDone) {
  ASSERT_EQ(fixture_.train(run_, {"--steps", "4"}).exit_code, 0);
  expect_refused({"--steps", "2", "--resume", "auto"}, 2, {"--steps 2", "step-000004 is at step 4 already"});
  EXPECT_EQ(fixture_.train(run_, {"--steps", "4", "--resume", "auto"}).exit_code, 0) << "a script run again";
}

}  // namespace
}  // namespace zoetrope
