#include "tools/heldout_baselines.h"

#include <cmath>

#include "core/check.h"

namespace zoetrope {
namespace {

/// In-place Cholesky factor L of a symmetric positive definite [n, n] matrix (lower triangle).
void cholesky(std::vector<double>& matrix, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = matrix[size_t(i * n + j)];
      for (int64_t k = 0; k < j; ++k) sum -= matrix[size_t(i * n + k)] * matrix[size_t(j * n + k)];
      if (i == j) {
        ZT_CHECK(sum > 0, "covariance is not positive definite at ", j);
        matrix[size_t(j * n + j)] = std::sqrt(sum);
      } else {
        matrix[size_t(i * n + j)] = sum / matrix[size_t(j * n + j)];
      }
    }
  }
}

/// Solves L L^T x = b in place.
void solve(const std::vector<double>& factor, int64_t n, double* b) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) b[i] -= factor[size_t(i * n + k)] * b[k];
    b[i] /= factor[size_t(i * n + i)];
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k) b[i] -= factor[size_t(k * n + i)] * b[k];
    b[i] /= factor[size_t(i * n + i)];
  }
}

}  // namespace

TokenStatistics token_statistics(const Dataset& dataset) {
  TokenStatistics s;
  s.features = dataset.features();
  const size_t n = size_t(s.features);
  std::vector<double> sum(n, 0.0), products(n * n, 0.0);
  std::vector<float> row(n);
  for (int64_t sample = 0; sample < int64_t(dataset.samples().size()); ++sample) {
    const int64_t tokens = dataset.samples()[size_t(sample)].num_tokens;
    const Tensor rows = Tensor::empty({tokens, s.features}, DType::kU8);
    dataset.read_tokens(sample, 0, tokens, rows);
    for (int64_t t = 0; t < tokens; ++t) {
      for (size_t c = 0; c < n; ++c) row[c] = float(rows.row<uint8_t>(t)[c]) / 127.5f - 1.0f;
      for (size_t i = 0; i < n; ++i) {
        sum[i] += row[i];
        double* line = &products[i * n];
        for (size_t j = 0; j <= i; ++j) line[j] += double(row[i] * row[j]);
      }
    }
    s.count += tokens;
  }
  ZT_REQUIRE(s.count > 0, "no tokens to fit on");
  s.mean.resize(n);
  s.covariance.resize(n * n);
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    s.mean[i] = sum[i] / double(s.count);
    s.scalar_mean += s.mean[i] / double(n);
    squares += products[i * n + i] / double(s.count) / double(n);
  }
  s.scalar_variance = squares - s.scalar_mean * s.scalar_mean;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j)
      s.covariance[i * n + j] = s.covariance[j * n + i] =
          products[i * n + j] / double(s.count) - s.mean[i] * s.mean[j];
  return s;
}

Baselines::Baselines(const TokenStatistics& s, double sigma) : statistics_(s) {
  const double keep = 1 - sigma;
  a_ = keep * s.scalar_variance / (keep * keep * s.scalar_variance + sigma * sigma);
  b_ = s.scalar_mean * (1 - a_ * keep);
  // W = keep C (keep^2 C + sigma^2 I)^-1; both factors are symmetric and commute, so W's rows are solutions.
  const int64_t n = s.features;
  std::vector<double> system = s.covariance;
  for (double& value : system) value *= keep * keep;
  for (int64_t i = 0; i < n; ++i) system[size_t(i * n + i)] += sigma * sigma;
  cholesky(system, n);
  filter_.resize(size_t(n * n));
  offset_.resize(size_t(n));
  std::vector<double> line(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) line[size_t(j)] = keep * s.covariance[size_t(i * n + j)];
    solve(system, n, line.data());
    double through = 0;
    for (int64_t j = 0; j < n; ++j) {
      filter_[size_t(i * n + j)] = float(line[size_t(j)]);
      through += line[size_t(j)] * keep * s.mean[size_t(j)];
    }
    offset_[size_t(i)] = s.mean[size_t(i)] - through;
  }
}

void Baselines::add(const float* x0, const float* x_sigma, BaselineErrors& errors) const {
  const int64_t n = statistics_.features;
  for (int64_t i = 0; i < n; ++i) {
    const double truth = x0[i];
    const double by_mean = statistics_.mean[size_t(i)] - truth;
    const double by_affine = a_ * x_sigma[i] + b_ - truth;
    const float* line = &filter_[size_t(i * n)];
    float dot = 0;
    for (int64_t j = 0; j < n; ++j) dot += line[j] * x_sigma[j];
    const double by_filter = double(dot) + offset_[size_t(i)] - truth;
    errors.mean += by_mean * by_mean;
    errors.affine += by_affine * by_affine;
    errors.patch_linear += by_filter * by_filter;
  }
  errors.count += n;
}

}  // namespace zoetrope
