// A place where the result can't be written is an error before the work, not after it: here the input is
// missing too, and the output is what the command speaks of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "tests/support/process.h"
#include "tests/support/training.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

const std::string kConfig = ZT_SOURCE_DIR "/configs/tiny.toml";

void expect_refused(std::vector<std::string> words, const std::string& out, int exit_code,
                    const std::string& said) {
  words.insert(words.begin(), ZT_BINARY);
  words.push_back(out);
  const Finished finished = run_process(words);
  EXPECT_EQ(finished.exit_code, exit_code) << words[1] << ": " << finished.output;
  EXPECT_EQ(finished.output.find("error: "), 0u) << finished.output;
  EXPECT_EQ(finished.output.find(".partial"), std::string::npos) << finished.output;
  for (const std::string& text : {out, said})
    EXPECT_NE(finished.output.find(text), std::string::npos) << words[1] << ": " << text << "\n"
                                                             << finished.output;
}

TEST(Outputs, SampleFindsAnUnwritablePlaceFirst) {
  const TemporaryFolder folder;
  const std::vector<std::string> sample{"sample", "--run", "none", "--prompt", "a cup", "--out"};
  write_file_atomically(folder.path() + "/file", "");
  std::filesystem::create_directories(folder.path() + "/folder.mp4");
  std::filesystem::create_directories(folder.path() + "/sheet.png");
  expect_refused(sample, folder.path() + "/none/a.mp4", 3, "No such file or directory");
  expect_refused(sample, folder.path() + "/file/a.mp4", 3, "Not a directory");
  expect_refused(sample, folder.path() + "/folder.mp4", 3, "no file");
  expect_refused(sample, "/proc/a.mp4", 3, "can't create");
  expect_refused(sample, folder.path() + "/a.gif", 2, "'.gif', expected a name that ends in .mp4");
  expect_refused(sample, folder.path() + "/a", 2, "expected a name that ends in .mp4");
  const Finished sheet = run_process(
      {ZT_BINARY, "sample", "--run", "none", "--prompt", "a cup", "--out", folder.path() + "/sheet.mp4"});
  EXPECT_EQ(sheet.exit_code, 3) << sheet.output;
  EXPECT_NE(sheet.output.find("sheet.png"), std::string::npos) << sheet.output;
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::permissions(folder.path(),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    expect_refused(sample, folder.path() + "/a.mp4", 3, "Permission denied");
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  }
}

TEST(Outputs, MeasuringCommandsDoToo) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/none/result";
  expect_refused({"profile", "--config", kConfig, "--out"}, out, 3, "No such file");
  expect_refused({"heldout", "--run", "none", "--data", "none", "--train-data", "none", "--out"}, out, 3,
                 "No such file");
  expect_refused({"bench", "cp", "--config", kConfig, "--data", "none", "--out"}, out, 3, "No such file");
  expect_refused({"bench", "cp", "--config", kConfig, "--data", "none", "--timeline"}, out, 3,
                 "No such file");
}

TEST(Outputs, EmptyPathsAreWrongUse) {
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--trace", "t2", "--samples", "8", "--html"},
      {"plan", "--trace", "t2", "--samples", "8", "--timeline"},
      {"plan", "--trace", "t2", "--samples", "8", "--plan-out"},
      {"plan", "--trace", "t2", "--samples", "8", "--lengths"},
      {"bench", "plan", "--out"},
      {"bench", "scale", "--gpus", "8", "--html"},
      {"bench", "cp", "--data", "none", "--timeline"},
      {"profile", "--config", kConfig, "--out"},
      {"profile", "--config", kConfig, "--name"},
      {"heldout", "--run", "none", "--data", "none", "--train-data", "none", "--out"},
      {"sample", "--run", "none", "--prompt", "a cup", "--out"},
      {"inspect", "none", "--export"},
      {"train", "--config", kConfig, "--data", "none", "--run"}};
  for (const std::vector<std::string>& words : commands)
    expect_refused(words, "", 2, words.back() + " is empty");
}

TEST(Outputs, AFullStdoutIsAnError) {
  const std::string zoetrope = "'" ZT_BINARY "'";
  for (const std::string& words : {zoetrope + " --version >/dev/full", zoetrope + " plan --help >&-"}) {
    const Finished finished = run_process({"sh", "-c", words});
    EXPECT_EQ(finished.exit_code, 3) << words << ": " << finished.output;
    EXPECT_NE(finished.output.find("error: can't write all of the output to stdout"), std::string::npos)
        << finished.output;
  }
}

TEST(Outputs, AFullDiskLeavesNoHalfCheckpointAndTheRunGoesOn) {
  const testing_support::TrainingFixture fixture;
  const std::string run = fixture.run("full");
  std::vector<std::string> words = fixture.command(run, {"--steps", "2", "--checkpoint-every", "1"});
  std::string line = "trap '' XFSZ; ulimit -f 64; exec";  // a limit on files fails as a full disk does
  for (const std::string& word : words) line += " '" + word + "'";
  const Finished full = run_process({"sh", "-c", line});
  EXPECT_EQ(full.exit_code, 3) << full.output;
  EXPECT_NE(full.output.find("error: can't write '" + run + "/checkpoints/step-000001.partial/"),
            std::string::npos)
      << full.output;
  EXPECT_TRUE(std::filesystem::is_empty(run + "/checkpoints"));
  EXPECT_EQ(fixture.train(run, {"--steps", "2", "--resume", "auto"}).exit_code, 0);
}

TEST(Outputs, ADeviceIsNeverReplaced) {
  EXPECT_THROW(write_file_atomically("/dev/null", "x"), Error);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Outputs, TheTrialLeavesNothing) {
  const TemporaryFolder folder;
  check_writable(folder.path() + "/a");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write_file_atomically(folder.path() + "/a", "old");
  check_writable(folder.path() + "/a");
  EXPECT_EQ(read_file(folder.path() + "/a"), "old");
}

}  // namespace
}  // namespace zoetrope
