// A step that can't go on: every rank stops with the step and the samples named.
#include "parallel/step.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "core/check.h"
#include "parallel/selftest_model.h"
#include "tests/support/ranks.h"

namespace zoetrope {
namespace {

/// Runs a step with one value of `parameter` replaced; returns rank 0's error and counts the ranks that
/// threw.
std::string error_with(const std::string& parameter, float value, int ranks, int& threw) {
  std::atomic<int> count = 0;
  std::string text;
  run_local_ranks(ranks, [&](Comm& comm) {
    SelftestOptions options;
    const SelftestCase test = selftest_cases(comm.size(), 1, 5).back();
    SelftestModel model(options, comm, 512, 8);
    model.parameters().value(parameter).data<float>()[0] = value;
    model.parameters().prepare();
    try {
      model.run_plan(test);
    } catch (const Error& error) {
      ++count;
      if (comm.rank() == 0) text = error.what();
    }
  });
  threw = count;
  return text;
}

TEST(Step, NonFiniteLossStopsAllRanksNamingStepAndSamples) {
  for (const int ranks : {1, 2, 3}) {
    int threw = 0;
    const std::string text =
        error_with("head.head.bias", std::numeric_limits<float>::quiet_NaN(), ranks, threw);
    EXPECT_EQ(threw, ranks);
    EXPECT_NE(text.find("step 1: the loss is"), std::string::npos) << text;
    EXPECT_NE(text.find("0 (draw 1000), 1 (draw 1001), 2 (draw 1002)"), std::string::npos) << text;
  }
}

TEST(Step, NonFiniteGradientStopsAllRanksNamingStepAndSamples) {
  for (const int ranks : {1, 2, 3}) {
    int threw = 0;
    // The loss is summed in double and stays finite; the gradients overflow f32.
    const std::string text = error_with("head.head.weight", 1e25f, ranks, threw);
    EXPECT_EQ(threw, ranks) << text;
    EXPECT_NE(text.find("step 1: the gradient norm is"), std::string::npos) << text;
    EXPECT_NE(text.find("(draw 1000)"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace zoetrope
