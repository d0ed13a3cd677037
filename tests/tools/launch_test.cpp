// Self-start under the mpirun of this machine: exit codes, an error on one rank, signals, a killed launcher.
#include "tools/launch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/check.h"
#include "tests/support/process.h"

namespace zoetrope {
namespace {

using std::chrono::milliseconds;
using testing_support::Finished;
using testing_support::Process;
using testing_support::run_process;

std::string probe() { return std::filesystem::path(ZT_BINARY).parent_path() / "tests" / "launch_probe"; }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Waits for output without a limit of its own: ctest's time-out ends a hang.
void wait_for_text(Process& process, const std::string& text) {
  while (!contains(process.output(), text) && !process.wait_for(milliseconds(10))) {}
}

TEST(Launch, OneRankRunsInThisProcess) {
  const Finished finished = run_process({probe(), "1", "exit", "1"});
  EXPECT_EQ(finished.exit_code, 1) << finished.output;
  EXPECT_TRUE(contains(finished.output, "rank 0 of 1 on single")) << finished.output;
}

TEST(Launch, MoreRanksThanCoresStartUnboundEvenAsRoot) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const int64_t cores = available_cores();
  const std::string ranks = std::to_string(cores + 1);
  const Finished finished = run_process({probe(), ranks, "exit"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  for (int64_t rank = 0; rank <= cores; ++rank)
    EXPECT_TRUE(
        contains(finished.output, join_message("rank ", rank, " of ", ranks, " on mpi, ", cores, " cores")))
        << finished.output;
  EXPECT_EQ(geteuid() == 0, contains(finished.output, "running as root")) << finished.output;
}

TEST(Launch, ExitCodeIsTheLargestOfTheRanks) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  EXPECT_EQ(run_process({probe(), "2", "exit", "1"}).exit_code, 1);
}

TEST(Launch, ErrorOnOneRankEndsAllNamingRankAndFile) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const Finished finished = run_process({probe(), "3", "fail"});
  EXPECT_EQ(finished.exit_code, 3) << finished.output;
  EXPECT_TRUE(contains(finished.output, "error: rank 1: data/shard-00003.h5: cannot read"))
      << finished.output;
}

TEST(Launch, WhatEveryRankFindsIsSaidOnce) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  for (const auto& [mode, exit_code, message] :
       {std::tuple{"usage", 2, "--frames 0: must be positive"}, {"fail-all", 3, "data/none: no such file"}}) {
    const Finished finished = run_process({probe(), "3", mode});
    EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
    for (const std::string text : {"error: ", message}) {
      EXPECT_TRUE(contains(finished.output, text)) << finished.output;
      EXPECT_EQ(finished.output.find(text), finished.output.rfind(text)) << finished.output;
    }
  }
}

TEST(Launch, ARankThatEndsWithoutAWordIsAFailure) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const Finished finished = run_process({probe(), "2", "vanish"});
  EXPECT_EQ(finished.exit_code, 3) << finished.output;
  EXPECT_TRUE(contains(finished.output, "error: rank 1 (pid ")) << finished.output;
}

TEST(Launch, MpirunThatStartsNothingIsAFailure) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const Finished finished =
      run_process({"env", "OMPI_MCA_rmaps=none", "PRTE_MCA_rmaps=none", probe(), "2", "exit"});
  if (finished.exit_code == 0) GTEST_SKIP() << "this mpirun has no such setting";
  EXPECT_EQ(finished.exit_code, 3) << finished.output;
  EXPECT_TRUE(contains(finished.output, "error: mpirun ended with exit code")) << finished.output;
}

TEST(Launch, StopSignalsLetAllRanksSave) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  for (const int number : {SIGTERM, SIGINT}) {
    Process process({probe(), "2", "stop"});
    wait_for_text(process, "ready");
    process.signal_leader(number);
    const Finished finished = process.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    for (const char* text : {"rank 0 saved", "rank 1 saved"})
      EXPECT_TRUE(contains(finished.output, text)) << finished.output;
  }
}

TEST(Launch, AStopSignalAtAnyMomentOfTheStartKillsNoRank) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const auto begin = std::chrono::steady_clock::now();
  {
    Process undisturbed({probe(), "2", "stop"});
    wait_for_text(undisturbed, "ready");
  }
  const auto start =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  constexpr int kMoments = 12;
  for (int moment = 0; moment < kMoments; ++moment) {
    Process process({probe(), "2", "stop"});
    process.wait_for(start * moment / kMoments);
    process.signal_leader(SIGTERM);
    const Finished finished = process.wait();
    const bool saved = contains(finished.output, "rank 0 saved") && contains(finished.output, "rank 1 saved");
    EXPECT_EQ(finished.exit_code, saved ? 0 : 128 + SIGTERM) << "moment " << moment << "\n"
                                                             << finished.output;
    EXPECT_FALSE(contains(finished.output, "killed by signal")) << "moment " << moment << "\n"
                                                                << finished.output;
  }
}

TEST(Launch, AStopSignalEndsWhatHasNothingToSave) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  Process process({probe(), "2", "linger"});
  wait_for_text(process, "ready");
  process.signal_leader(SIGTERM);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 128 + SIGTERM) << finished.output;
  EXPECT_TRUE(contains(finished.output, "warning: ended by signal 15")) << finished.output;
}

TEST(Launch, StopSignalOfOneRankNeedsNoLauncher) {
  Process process({probe(), "1", "stop"});
  wait_for_text(process, "ready");
  process.signal_leader(SIGTERM);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_TRUE(contains(finished.output, "rank 0 saved")) << finished.output;
}

/// Processes whose command line is the probe's with these arguments.
int count_probes(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code gone;
    if (!std::filesystem::exists(entry.path() / "cmdline", gone)) continue;
    FILE* file = std::fopen((entry.path() / "cmdline").c_str(), "rb");
    if (file == nullptr) continue;
    char line[4096];
    const size_t length = std::fread(line, 1, sizeof line, file);
    std::fclose(file);
    count += contains(std::string(line, length), mark);
  }
  return count;
}

TEST(Launch, KilledLauncherLeavesNoRank) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const std::string mark = join_message("mark-", getpid());
  Process process({probe(), "2", "stop", mark});
  wait_for_text(process, "ready");
  EXPECT_GE(count_probes(mark), 3);
  process.signal_leader(SIGKILL);
  process.wait();
  while (count_probes(mark) > 0) usleep(1000);  // ctest's time-out ends a hang
}

/// Runs a command under an mpirun that a user started for two ranks.
Finished run_under_mpirun(const std::vector<std::string>& words) {
  std::vector<std::string> command{"env"};
  for (const std::string& variable : plan_launch(4, 2, 1, true, false, "/tmp", "/tmp", "nobody").environment)
    if (variable != "ZOETROPE_LAUNCHED=nobody") command.push_back(variable);
  command.insert(command.end(), {"mpirun", "-n", "2", "--map-by", ":OVERSUBSCRIBE"});
  command.insert(command.end(), words.begin(), words.end());
  return run_process(command);
}

TEST(Launch, NamesTheRankThatWasKilled) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  for (const auto& [rank, number] : {std::pair{0, SIGKILL}, {1, SIGKILL}, {2, SIGKILL}, {1, SIGABRT}}) {
    Process process({probe(), "3", "linger"});
    wait_for_text(process, "ready");
    const std::string mark = join_message("rank ", rank, " has pid ");
    wait_for_text(process, mark);
    const std::string seen = process.output();
    const pid_t pid = std::atoi(seen.c_str() + seen.find(mark) + mark.size());
    ASSERT_EQ(kill(pid, number), 0) << seen;
    const Finished finished = process.wait();
    EXPECT_EQ(finished.exit_code, 128 + number) << finished.output;
    const std::string said =
        join_message("error: rank ", rank, " (pid ", pid, ") was killed by signal ", number, " (");
    EXPECT_TRUE(contains(finished.output, said)) << said << "\n" << finished.output;
  }
}

TEST(Launch, WithoutRanksItTakesWhatMpirunGives) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const Finished finished = run_under_mpirun({probe(), "0", "exit"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  for (const char* text : {"rank 0 of 2 on mpi", "rank 1 of 2 on mpi"})
    EXPECT_TRUE(contains(finished.output, text)) << finished.output;
}

TEST(Launch, MpirunOfAnotherCountIsWrongUseInEveryCommand) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const std::string config = ZT_SOURCE_DIR "/configs/tiny.toml";
  const std::vector<std::vector<std::string>> commands{
      {"train", "--config", config, "--data", "none", "--run", "none", "--ranks", "1"},
      {"train", "--config", ZT_SOURCE_DIR "/configs/quickstart.toml", "--data", "none", "--run", "none",
       "--ranks", "3"},
      {"sample", "--run", "none", "--prompt", "a cup", "--out", "none.mp4", "--ranks", "1"},
      {"profile", "--config", config, "--out", "none.toml", "--ranks", "1"},
      {"bench", "cp", "--config", config, "--data", "none", "--ranks", "1"},
      {"selftest", "--ranks", "1"}};
  for (std::vector<std::string> words : commands) {
    const std::string said =
        join_message(" is ", words.back(), ", but mpirun or srun started 2; give --ranks 2");
    words.insert(words.begin(), ZT_BINARY);
    const Finished finished = run_under_mpirun(words);
    EXPECT_EQ(finished.exit_code, 2) << words[1] << ": " << finished.output;
    EXPECT_TRUE(contains(finished.output, said)) << words[1] << ": " << finished.output;
  }
}

TEST(Launch, NegativeRanksAreWrongUse) {
  EXPECT_EQ(run_process({ZT_BINARY, "selftest", "--ranks", "-2"}).exit_code, 2);
}

TEST(LaunchPlan, TellsEachVersionWhatItNeeds) {
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  const LaunchPlan four = plan_launch(4, 4, 2, true, false, "/tmp/a", "/dev/shm/a", "nobody");
  EXPECT_TRUE(has(four.environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
  EXPECT_TRUE(has(four.environment, "OMPI_MCA_btl_vader_single_copy_mechanism=none"));
  EXPECT_TRUE(has(four.environment, "OMPI_MCA_mpi_yield_when_idle=1"));
  EXPECT_EQ(four.notes.size(), 2u);
  const LaunchPlan five = plan_launch(5, 2, 2, false, true, "/tmp/a", "/dev/shm/a", "nobody");
  EXPECT_TRUE(has(five.environment, "OMPI_MCA_btl=self,sm"));
  EXPECT_TRUE(has(five.environment, "OMPI_MCA_mpi_yield_when_idle=0"));
  EXPECT_FALSE(has(five.environment, "PRTE_ALLOW_RUN_AS_ROOT=1"));
  EXPECT_TRUE(five.notes.empty());
}

}  // namespace
}  // namespace zoetrope
