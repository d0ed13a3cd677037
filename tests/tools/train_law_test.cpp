// Laws 1, 4 and 5 of a whole run, on the real binary: the plan and the rank count never change the result
// beyond rounding, resume is bit-exact, nothing that was asked for is changed silently.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "schedule/planner.h"
#include "tests/support/training.h"

namespace zoetrope {
namespace {

using namespace testing_support;

const std::string kStep20 = "/checkpoints/step-000020";

class TrainLaw : public testing::Test {
 protected:
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const auto left = checkpoint_tensors(a), right = checkpoint_tensors(b);
    ASSERT_GE(left.size(), 3u) << "model, optimizer, ema";
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].first, right[i].first);
      EXPECT_TRUE(left[i].second == right[i].second)
          << left[i].first << " of " << a << " and " << b << " differ";
    }
  }
  TrainingFixture fixture_;
};

TEST_F(TrainLaw, TwentyStepsEqualTenAndResumeAndTen) {
  for (const std::string ranks : {"1", "2"}) {
    const std::string whole = fixture_.run("whole" + ranks), parts = fixture_.run("parts" + ranks);
    Finished done = fixture_.train(whole, {"--ranks", ranks, "--steps", "20"});
    ASSERT_EQ(done.exit_code, 0) << done.output;
    done = fixture_.train(parts, {"--ranks", ranks, "--steps", "10"});
    ASSERT_EQ(done.exit_code, 0) << done.output;
    done = fixture_.train(parts, {"--ranks", ranks, "--steps", "20", "--resume", "auto"});
    ASSERT_EQ(done.exit_code, 0) << done.output;
    expect_same_tensors(whole + kStep20, parts + kStep20);
    EXPECT_EQ(metric_column(whole, "loss"), metric_column(parts, "loss"));
    EXPECT_EQ(metric_column(parts, "step").size(), 20u);
  }
}

TEST_F(TrainLaw, SameRunTwiceIsBitEqual) {
  for (const std::string name : {"first", "second"}) {
    const Finished done = fixture_.train(fixture_.run(name), {"--ranks", "3", "--steps", "5"});
    ASSERT_EQ(done.exit_code, 0) << done.output;
  }
  expect_same_tensors(fixture_.run("first") + "/checkpoints/step-000005",
                      fixture_.run("second") + "/checkpoints/step-000005");
}

// The gradients' tolerance is derived in the tests of parallel/; here the first step's loss of every rank
// count and planner must agree to the rounding of one sum over the step's elements: sqrt(n) units, n about
// 1e5.
TEST_F(TrainLaw, FirstLossDoesNotDependOnRanksOrPlanner) {
  double expected = 0;
  for (const std::string& planner : planner_names())
    for (const std::string ranks : {"1", "2", "3", "4"}) {
      const std::string run = fixture_.run(planner + ranks);
      const Finished done = fixture_.train(run, {"--ranks", ranks, "--steps", "1", "--planner", planner});
      ASSERT_EQ(done.exit_code, 0) << done.output;
      const double loss = metric_column(run, "loss").at(0);
      if (expected == 0) expected = loss;
      EXPECT_LE(std::abs(loss - expected), std::sqrt(1e5) * std::ldexp(1.0, -24) * expected)
          << planner << " on " << ranks;
    }
}

TEST_F(TrainLaw, ResumeOnAnotherRankCountGoesOn) {
  const std::string run = fixture_.run("run");
  ASSERT_EQ(fixture_.train(run, {"--ranks", "1", "--steps", "10"}).exit_code, 0);
  const Finished done = fixture_.train(run, {"--ranks", "3", "--steps", "12", "--resume", "auto"});
  ASSERT_EQ(done.exit_code, 0) << done.output;
  EXPECT_NE(done.output.find("made on 1 ranks"), std::string::npos) << done.output;
  EXPECT_EQ(metric_column(run, "step").size(), 12u);
}

TEST_F(TrainLaw, WhatWasSavedIsNotChangedSilently) {
  const std::string run = fixture_.run("run");
  ASSERT_EQ(fixture_.train(run, {"--steps", "2"}).exit_code, 0);
  const struct {
    std::vector<std::string> flags;
    const char* says;
  } cases[] = {{{}, "--resume auto"},
               {{"--resume", "auto", "--seed", "9"}, "numerics.seed"},
               {{"--resume", "auto", "--batch", "3"}, "plan.batch"},
               {{"--resume", "auto", "--cost", "h100"}, "--change cost"},
               {{"--resume", "auto", "--memory-per-rank", "1000000000"}, "--change memory"},
               {{"--resume", run + "/checkpoints"}, "DONE"}};
  for (const auto& test : cases) {
    const Finished done = fixture_.train(run, test.flags);
    EXPECT_EQ(done.exit_code, 2) << done.output;
    EXPECT_NE(done.output.find("error: "), std::string::npos) << done.output;
    EXPECT_NE(done.output.find(test.says), std::string::npos) << done.output;
  }
  const Finished changed =
      fixture_.train(run, {"--resume", "auto", "--cost", "h100", "--change", "cost", "--steps", "3"});
  EXPECT_EQ(changed.exit_code, 0) << changed.output;
  EXPECT_NE(read_file(run + "/checkpoints/step-000003/state.json").find("step 2: cost set"),
            std::string::npos);
}

TEST_F(TrainLaw, SigtermSavesAndEnds) {
  const std::string run = fixture_.run("run");
  Process process(fixture_.command(run, {"--ranks", "2", "--steps", "100000", "--checkpoint-every", "0"}));
  while (process.output().find("step 2/") == std::string::npos)
    ASSERT_FALSE(process.wait_for(std::chrono::milliseconds(20))) << process.output();
  process.signal_leader(SIGTERM);
  const Finished done = process.wait();
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_NE(done.output.find("stopped by a signal"), std::string::npos) << done.output;
  const int64_t saved = int64_t(metric_column(run, "step").back());
  char name[64];
  std::snprintf(name, sizeof name, "/checkpoints/step-%06lld/DONE", static_cast<long long>(saved));
  EXPECT_TRUE(std::filesystem::exists(run + name)) << name;
}

// Weights beyond f32 are never saved: --resume auto would lead into them again, and older checkpoints would
// go.
TEST_F(TrainLaw, WeightsThatAreNotFiniteAreNotSaved) {
  for (const std::string ranks : {"1", "2"}) {
    const std::string run = fixture_.run("diverged" + ranks);
    const Finished diverged = fixture_.train(run, {"--ranks", ranks, "--steps", "4", "--checkpoint-every",
                                                   "1", "--learning-rate", "1e39", "--warmup-steps", "2"});
    EXPECT_EQ(diverged.exit_code, 3) << diverged.output;
    EXPECT_NE(diverged.output.find("not finite"), std::string::npos) << diverged.output;
    EXPECT_FALSE(std::filesystem::exists(run + "/checkpoints/step-000001")) << diverged.output;
  }
}

TEST_F(TrainLaw, AnotherMemoryCapIsTakenWhereItIsAllowed) {
  const std::string run = fixture_.run("capped");
  ASSERT_EQ(fixture_.train(run, {"--steps", "1", "--memory-per-rank", "40000000"}).exit_code, 0);
  const Finished changed = fixture_.train(
      run, {"--steps", "2", "--resume", "auto", "--memory-per-rank", "50000000", "--change", "memory"});
  EXPECT_EQ(changed.exit_code, 0) << changed.output;
  EXPECT_NE(changed.output.find("memory per rank 40000000 -> 50000000"), std::string::npos) << changed.output;
}

}  // namespace
}  // namespace zoetrope
