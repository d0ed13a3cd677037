// The fit finds the coefficients that made the data, and says how far off it is otherwise.
#include "tools/profile_fit.h"

#include <gtest/gtest.h>

#include "core/check.h"

namespace zoetrope {
namespace {

std::vector<StepSample> made_with(const StepFit& truth) {
  std::vector<StepSample> samples;
  for (const double length : {64.0, 200.0, 700.0, 1500.0})
    for (const double count : {1.0, 3.0}) {
      StepSample s{length * count, length * length * count, count, count > 1 ? length : 0, 1, 0};
      s.ns = truth.predict(s);
      samples.push_back(s);
    }
  return samples;
}

TEST(ProfileFit, FindsTheCoefficientsThatMadeTheData) {
  const StepFit truth{900, 0.4, 30000, 70, 250000, 0};
  const StepFit fit = fit_steps(made_with(truth));
  // Normal equations square the condition: about eight of sixteen digits remain.
  EXPECT_NEAR(fit.linear_ns / truth.linear_ns, 1, 1e-6);
  EXPECT_NEAR(fit.quadratic_ns / truth.quadratic_ns, 1, 1e-6);
  EXPECT_NEAR(fit.segment_ns / truth.segment_ns, 1, 1e-6);
  EXPECT_NEAR(fit.remote_ns / truth.remote_ns, 1, 1e-6);
  EXPECT_NEAR(fit.wave_ns / truth.wave_ns, 1, 1e-6);
  EXPECT_LT(fit.largest_error, 1e-6);
}

TEST(ProfileFit, CoefficientsNeverGoBelowZero) {
  // Times that shrink per segment would want a negative segment cost.
  std::vector<StepSample> samples = made_with({900, 0.4, 0, 0, 250000, 0});
  for (StepSample& s : samples) s.ns -= 40000 * (s.segments - 1);
  const StepFit fit = fit_steps(samples);
  EXPECT_EQ(fit.segment_ns, 0);
  EXPECT_GE(fit.linear_ns, 0);
  EXPECT_GE(fit.quadratic_ns, 0);
  EXPECT_GE(fit.remote_ns, 0);
  EXPECT_GE(fit.wave_ns, 0);
  EXPECT_GT(fit.largest_error, 0);
}

TEST(ProfileFit, OneSampleIsFittedExactly) {
  const StepFit fit = fit_steps({{100, 10000, 1, 0, 1, 5e6}});
  EXPECT_NEAR(fit.predict({100, 10000, 1, 0, 1, 5e6}), 5e6, 1);
  EXPECT_THROW(fit_steps({}), Error);
  EXPECT_THROW(fit_steps({{100, 10000, 1, 0, 1, 0}}), Error);
}

}  // namespace
}  // namespace zoetrope
