// Law 4: kill -9 at random moments of training costs at most the work since the last checkpoint; the result
// is that of an undisturbed run, bit for bit.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/training.h"

namespace zoetrope {
namespace {

using namespace testing_support;

TEST(TrainCrash, TwentyKillsChangeNothing) {
  const TrainingFixture fixture;
  const std::vector<std::string> flags{
      "--ranks", "2", "--steps", "40", "--checkpoint-every", "2", "--keep-checkpoints", "2"};
  const auto start = std::chrono::steady_clock::now();
  const std::string whole = fixture.run("whole"), killed = fixture.run("killed");
  const Finished undisturbed = fixture.train(whole, flags);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.output;
  const auto whole_time =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);

  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> resumed = flags;
  resumed.insert(resumed.end(), {"--resume", "auto"});
  int kills = 0;
  for (int attempt = 0; kills < 20; ++attempt) {
    ASSERT_LT(attempt, 200) << "the run ends before it can be killed";
    Process process(fixture.command(killed, resumed));
    const auto moment = std::chrono::milliseconds(random() % uint64_t(whole_time.count() / 2 + 1));
    if (process.wait_for(
            moment)) {  // done: start over, so that every one of the twenty kills hits a running one
      ASSERT_EQ(process.wait().exit_code, 0) << process.output();
      std::filesystem::remove_all(killed);
      continue;
    }
    process.signal_group(SIGKILL);
    process.wait();
    ++kills;
  }
  const Finished last = fixture.train(killed, resumed);
  ASSERT_EQ(last.exit_code, 0) << last.output;
  const std::string step = "/checkpoints/step-000040";
  const auto expected = checkpoint_tensors(whole + step), found = checkpoint_tensors(killed + step);
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(expected[i] == found[i]) << expected[i].first;
  EXPECT_EQ(metric_column(whole, "loss"), metric_column(killed, "loss"));
}

/// Rank 1 of the run, by its command line and environment; 0 while there is none.
pid_t pid_of_rank_one(const std::string& run) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto read_all = [&](const char* name) {
      std::ifstream file(entry.path() / name, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    if (read_all("cmdline").find(run) != std::string::npos &&
        read_all("environ").find(std::string("\0OMPI_COMM_WORLD_RANK=1\0", 24)) != std::string::npos)
      return std::stoi(entry.path().filename());
  }
  return 0;
}

TEST(TrainCrash, AKilledRankIsNamedWithTheCheckpointToGoOnFrom) {
  const TrainingFixture fixture;
  const std::string run = fixture.run("killed");
  Process process(fixture.command(run, {"--ranks", "2", "--steps", "100000", "--checkpoint-every", "3"}));
  while (!std::filesystem::exists(run + "/checkpoints/step-000003/DONE"))
    ASSERT_FALSE(process.wait_for(std::chrono::milliseconds(1)));
  const pid_t pid = pid_of_rank_one(run);
  ASSERT_GT(pid, 0);
  kill(pid, SIGKILL);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 128 + SIGKILL);
  EXPECT_NE(finished.output.find("error: rank 1 (pid " + std::to_string(pid) + ") was killed by signal 9"),
            std::string::npos)
      << finished.output;
  EXPECT_NE(finished.output.find("the run goes on from " + run + "/checkpoints/step-"), std::string::npos)
      << finished.output;
}

}  // namespace
}  // namespace zoetrope
