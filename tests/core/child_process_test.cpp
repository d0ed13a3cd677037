// A command as a child: what it printed, how it ended, what it cost, and that it doesn't outlive who started
// it.
#include "core/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <thread>

#include "core/check.h"

namespace zoetrope {
namespace {

TEST(ChildProcess, TellsOutputEndAndUse) {
  // Reads its input to the end, and holds 32 MiB.
  const Finished finished = run_process(
      {"sh", "-c",
       "cat; echo out; echo error >&2; head -c 33554432 /dev/zero | tail -c 33554432 | wc -c; exit 5"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_EQ(finished.output, "out\nerror\n33554432\n");
  EXPECT_GT(finished.cpu(), 0);
  EXPECT_GE(finished.peak_bytes, 32 << 20);
  EXPECT_GT(finished.wall, 0);
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + SIGKILL);
}

TEST(ChildProcess, OneThatFailsIsAnErrorWithItsOutput) {
  EXPECT_EQ(run_successfully({"echo", "fine"}).output, "fine\n");
  const auto error_of = [](const std::vector<std::string>& command) -> std::string {
    try {
      run_successfully(command);
    } catch (const Error& error) { return error.what(); }
    return "no error";
  };
  EXPECT_EQ(error_of({"sh", "-c", "echo why; exit 7"}), "'sh -c echo why; exit 7' ended with 7: why\n");
  EXPECT_EQ(error_of({"/none/program", "x"}),
            "'/none/program x' ended with 127: can't start '/none/program': No such file or directory\n");
}

TEST(ChildProcess, EndsWithTheOneThatStartedIt) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] {
    child = std::make_unique<ChildProcess>(std::vector<std::string>{"sh", "-c", "echo up; exec sleep 1000"});
    while (child->output().empty()) ASSERT_FALSE(child->wait_for(std::chrono::milliseconds(1)));
  }).join();
  EXPECT_EQ(child->wait().exit_code, 128 + SIGKILL);
}

}  // namespace
}  // namespace zoetrope
