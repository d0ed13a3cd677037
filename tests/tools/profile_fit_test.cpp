// The fit finds the coefficients that made the data, and says how far off it is otherwise.
#include "tools/profile_fit.h"

#include <gtest/gtest.h>

#include "core/check.h"

namespace zoetrope {
namespace {

StepSample sample_of(double length, double count, double own, double blocks) {
  StepSample s;
  s.tokens = length * count * own;
  s.pairs = length * length * count * own;
  s.segments = count;
  s.remote = length * count * (1 - own);
  s.split_rows = blocks > 1 ? s.tokens * blocks : 0;
  return s;
}

/// Whole samples, and shards of a half and of a quarter.
std::vector<StepSample> made_with(const std::array<PassFit, kPasses>& truth) {
  std::vector<StepSample> samples;
  for (const double length : {64.0, 200.0, 700.0, 1500.0})
    for (const double count : {1.0, 3.0})
      for (const double own : {1.0, 0.5, 0.25}) {
        StepSample s = sample_of(length, count, own, own < 1 ? 2 : 1);
        for (size_t pass = 0; pass < size_t(kPasses); ++pass) s.ns[pass] = truth[pass].predict(s);
        samples.push_back(s);
      }
  return samples;
}

void expect_same(const PassFit& fit, const PassFit& truth) {
  // Normal equations square the condition: about eight of sixteen digits remain.
  EXPECT_NEAR(fit.linear / truth.linear, 1, 1e-6);
  EXPECT_NEAR(fit.quadratic / truth.quadratic, 1, 1e-6);
  EXPECT_NEAR(fit.segment / truth.segment, 1, 1e-6);
  EXPECT_NEAR(fit.remote / truth.remote, 1, 1e-6);
  EXPECT_NEAR(fit.split_row / truth.split_row, 1, 1e-6);
  EXPECT_NEAR(fit.wave / truth.wave, 1, 1e-6);
}

TEST(ProfileFit, FindsTheCoefficientsOfEveryPass) {
  const std::array<PassFit, kPasses> truth{PassFit{300, 0.1, 10000, 20, 7, 80000},
                                           PassFit{200, 0.08, 9000, 10, 5, 50000},
                                           PassFit{600, 0.3, 20000, 50, 20, 170000}};
  const StepFit fit = fit_steps(made_with(truth));
  for (size_t pass = 0; pass < size_t(kPasses); ++pass) expect_same(fit.passes[pass], truth[pass]);
  EXPECT_LT(fit.largest_error, 1e-6);
  EXPECT_LE(fit.median_error, fit.largest_error);
  CostModel cost;
  fit.apply_to(cost);
  EXPECT_NEAR(cost.linear_ns, 1100, 1e-3);
  EXPECT_NEAR(cost.linear_forward_ns, 300, 1e-3);
  EXPECT_NEAR(cost.linear_recompute_ns, 200, 1e-3);
  EXPECT_NEAR(cost.quadratic_ns, 0.48, 1e-6);
  EXPECT_NEAR(cost.quadratic_forward_ns, 0.1, 1e-6);
  EXPECT_NEAR(cost.quadratic_recompute_ns, 0.08, 1e-6);
  EXPECT_EQ(cost.short_block_tokens, 67);  // 32 / 0.48, whole
  EXPECT_NEAR(cost.exchange_ns, 80, 1e-3);
  EXPECT_NEAR(cost.sample_overhead_ns, 39000, 1);
  EXPECT_NEAR(cost.wave_overhead_ns, 300000, 1);
}

TEST(ProfileFit, PassesThatTakeNoTimeCostNothing) {
  const std::array<PassFit, kPasses> truth{PassFit{300, 0.1, 10000, 20, 7, 80000}, PassFit{},
                                           PassFit{600, 0.3, 20000, 50, 20, 170000}};
  CostModel cost;
  fit_steps(made_with(truth)).apply_to(cost);
  EXPECT_EQ(cost.linear_recompute_ns, 0);
  EXPECT_EQ(cost.quadratic_recompute_ns, 0);
}

TEST(ProfileFit, CoefficientsNeverGoBelowZero) {
  // Times that shrink per segment would want a negative segment cost.
  std::vector<StepSample> samples = made_with({PassFit{900, 0.4, 0, 0, 0, 250000}});
  for (StepSample& s : samples) s.ns[0] -= 20000 * (s.segments - 1);
  const StepFit fit = fit_steps(samples);
  const PassFit all = fit.sum();
  EXPECT_EQ(all.segment, 0);
  for (const double value : {all.linear, all.quadratic, all.remote, all.split_row, all.wave})
    EXPECT_GE(value, 0);
  EXPECT_GT(fit.largest_error, 0);
}

TEST(ProfileFit, OneSampleIsFittedExactly) {
  StepSample s = sample_of(100, 1, 1, 1);
  EXPECT_THROW(fit_steps({s}), Error);
  s.ns = {1e6, 0, 4e6};
  EXPECT_NEAR(fit_steps({s}).predict(s), 5e6, 1);
  EXPECT_THROW(fit_steps({}), Error);
}

}  // namespace
}  // namespace zoetrope
