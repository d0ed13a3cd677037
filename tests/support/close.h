// Comparison of a backend's numbers with a reference in double, within a bound for each element that follows
// from the data. NaN where the reference has a number is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "core/tensor.h"

namespace zoetrope::test {

inline constexpr double kUnitF32 = 0x1p-24;  ///< unit roundoff of f32
inline constexpr double kUnitBF16 = 0x1p-8;  ///< unit roundoff of bf16

/// Element (t, c) of a matrix, or element c of row t of any tensor, as a double.
inline double element(const Tensor& x, int64_t t, int64_t c) {
  const int64_t at = t * x.row_stride() + c;
  switch (x.dtype()) {
    case DType::kF32: return double(static_cast<const float*>(x.raw())[at]);
    case DType::kBF16: return double(float(static_cast<const bf16*>(x.raw())[at]));
    case DType::kF64: return static_cast<const double*>(x.raw())[at];
    case DType::kU8: return double(static_cast<const uint8_t*>(x.raw())[at]);
    case DType::kI32: return double(static_cast<const int32_t*>(x.raw())[at]);
    case DType::kI64: return double(static_cast<const int64_t*>(x.raw())[at]);
  }
  return std::nan("");
}

/// |found - expected| <= bound, where equal infinities agree and NaN agrees with nothing.
inline bool is_within(double found, double expected, double bound) {
  if (std::isinf(expected)) return found == expected;
  return std::abs(found - expected) <= bound;
}

using Reference = std::function<double(int64_t t, int64_t c)>;

/// What an element should be, and how far from it it may lie.
struct Allowed {
  double expected = 0, bound = 0;
};

/// Every element of `found` is as `range(t, c)` says. Names the worst element and its error / bound.
inline ::testing::AssertionResult all_within(const Tensor& found,
                                             const std::function<Allowed(int64_t t, int64_t c)>& range) {
  double worst = 0;
  std::string text;
  for (int64_t t = 0; t < found.rows(); ++t)
    for (int64_t c = 0; c < found.row_size(); ++c) {
      const double value = element(found, t, c);
      const auto [reference, allowed] = range(t, c);
      if (is_within(value, reference, allowed)) continue;
      const double excess = std::abs(value - reference) / allowed;
      if (!text.empty() && !(excess > worst)) continue;
      worst = excess;
      text = join_message("element (", t, ", ", c, ") of ", found.shape_text(), " is ", value, ", expected ",
                          reference, ", error / bound ", excess);
    }
  if (text.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << text;
}

/// Every element of `found` is within bound(t, c) of expected(t, c).
inline ::testing::AssertionResult all_within(const Tensor& found, const Reference& expected,
                                             const Reference& bound) {
  return all_within(found, [&](int64_t t, int64_t c) { return Allowed{expected(t, c), bound(t, c)}; });
}

/// Bound of a dot product or sum of `count` terms in f32: mass = sum |a_i b_i|. Source: style 5.9.
inline double dot_bound(double mass, double result, int64_t count) {
  return kUnitF32 * (4 * mass + 2 * std::sqrt(double(count)) * std::abs(result)) + 1e-30;
}
/// Added when the result is stored as `dtype`.
inline double store_bound(DType dtype, double result) {
  return dtype == DType::kBF16 ? kUnitBF16 * std::abs(result) : 0.0;
}

}  // namespace zoetrope::test
