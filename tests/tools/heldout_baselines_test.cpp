#include "tools/heldout_baselines.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"

namespace zoetrope {
namespace {

// Tokens of two correlated features: x = m + L z.
constexpr double kMean[2] = {0.3, -0.2}, kL[2][2] = {{0.5, 0}, {0.4, 0.1}};

TokenStatistics exact_statistics() {
  TokenStatistics s;
  s.features = 2;
  s.count = 1;
  s.mean = {kMean[0], kMean[1]};
  s.covariance.resize(4);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) s.covariance[size_t(2 * i + j)] = kL[i][0] * kL[j][0] + kL[i][1] * kL[j][1];
  s.scalar_mean = (kMean[0] + kMean[1]) / 2;
  const double squares = (s.covariance[0] + s.covariance[3] + kMean[0] * kMean[0] + kMean[1] * kMean[1]) / 2;
  s.scalar_variance = squares - s.scalar_mean * s.scalar_mean;
  return s;
}

TEST(Baselines, ErrorsAreThoseOfTheBestPredictions) {
  const TokenStatistics s = exact_statistics();
  for (double sigma : {0.2, 0.5, 0.9}) {
    const Baselines baselines(s, sigma);
    BaselineErrors errors;
    constexpr int64_t kTokens = 200000;
    for (int64_t t = 0; t < kTokens; ++t) {
      float z[4];
      fill_normal({11, Purpose::kHeldOut, 0, t}, z, 4);
      float x0[2], noisy[2];
      for (int i = 0; i < 2; ++i) {
        x0[i] = float(kMean[i] + kL[i][0] * z[0] + kL[i][1] * z[1]);
        noisy[i] = float((1 - sigma) * x0[i] + sigma * z[2 + i]);
      }
      baselines.add(x0, noisy, errors);
    }
    const double n = double(errors.count), v = s.scalar_variance, keep = 1 - sigma;
    // Residual of the best scalar line; trace of C for the mean token; trace of the Wiener residual
    // C - keep^2 C (keep^2 C + sigma^2)^-1 C for the filter, through the eigenvalues of the 2 x 2 matrix.
    const double trace = s.covariance[0] + s.covariance[3];
    const double determinant = s.covariance[0] * s.covariance[3] - s.covariance[1] * s.covariance[2];
    const double root = std::sqrt(trace * trace / 4 - determinant);
    double wiener = 0;
    for (double eigen : {trace / 2 + root, trace / 2 - root})
      wiener += eigen * sigma * sigma / (keep * keep * eigen + sigma * sigma) / 2;
    const double affine = v * sigma * sigma / (keep * keep * v + sigma * sigma);
    const double tolerance =
        5 * std::sqrt(2.0 / double(kTokens));  // five standard errors of a mean of squares
    EXPECT_NEAR(errors.mean / n / (trace / 2), 1, tolerance) << sigma;
    EXPECT_NEAR(errors.affine / n / affine, 1, tolerance) << sigma;
    EXPECT_NEAR(errors.patch_linear / n / wiener, 1, tolerance) << sigma;
  }
}

}  // namespace
}  // namespace zoetrope
