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

using testing_support::Finished;
using testing_support::Process;
using testing_support::run_process;
using std::chrono::milliseconds;

std::string probe() { return std::filesystem::path(ZT_BINARY).parent_path() / "tests" / "launch_probe"; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Waits for output without a limit of its own: ctest's time-out ends a hang.
void wait_for_text(Process& process, const std::string& text) {
  while (!contains(process.output(), text) && !process.wait_for(milliseconds(10))) {
  }
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
    EXPECT_TRUE(contains(finished.output, join_message("rank ", rank, " of ", ranks, " on mpi, ", cores, " cores"))) << finished.output;
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
  EXPECT_TRUE(contains(finished.output, "error: rank 1: data/shard-00003.h5: cannot read")) << finished.output;
}

TEST(Launch, WrongUseIsSaidOnce) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const Finished finished = run_process({probe(), "2", "usage"});
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  const std::string message = "--frames 0: must be positive";
  EXPECT_EQ(finished.output.find(message), finished.output.rfind(message)) << finished.output;
}

TEST(Launch, StopSignalsLetAllRanksSave) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  for (const int number : {SIGTERM, SIGINT}) {
    Process process({probe(), "2", "stop"});
    wait_for_text(process, "ready");
    process.signal_leader(number);
    const Finished finished = process.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    for (const char* text : {"rank 0 saved", "rank 1 saved"}) EXPECT_TRUE(contains(finished.output, text)) << finished.output;
  }
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

TEST(Launch, MpirunOfAnotherCountIsWrongUse) {
  if (!mpi_built()) GTEST_SKIP() << "this build has no MPI";
  const LaunchPlan plan = plan_launch(4, 2, 1, true, false, "/tmp", "/tmp");
  std::vector<std::string> command{"env"};
  command.insert(command.end(), plan.environment.begin(), plan.environment.end());
  for (const std::string& word : {std::string("mpirun"), std::string("-n"), std::string("2"), std::string("--map-by"),
                                  std::string(":OVERSUBSCRIBE"), probe(), std::string("3"), std::string("exit")})
    command.push_back(word);
  const Finished finished = run_process(command);
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  EXPECT_TRUE(contains(finished.output, "--ranks 3, but mpirun or srun started 2")) << finished.output;
}

TEST(LaunchPlan, TellsEachVersionWhatItNeeds) {
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  const LaunchPlan four = plan_launch(4, 4, 2, true, false, "/tmp/a", "/dev/shm/a");
  EXPECT_TRUE(has(four.environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
  EXPECT_TRUE(has(four.environment, "OMPI_MCA_btl_vader_single_copy_mechanism=none"));
  EXPECT_TRUE(has(four.environment, "OMPI_MCA_mpi_yield_when_idle=1"));
  EXPECT_EQ(four.notes.size(), 2u);
  const LaunchPlan five = plan_launch(5, 2, 2, false, true, "/tmp/a", "/dev/shm/a");
  EXPECT_TRUE(has(five.environment, "OMPI_MCA_btl=self,sm"));
  EXPECT_TRUE(has(five.environment, "OMPI_MCA_mpi_yield_when_idle=0"));
  EXPECT_FALSE(has(five.environment, "PRTE_ALLOW_RUN_AS_ROOT=1"));
  EXPECT_TRUE(five.notes.empty());
}

}  // namespace
}  // namespace zoetrope
