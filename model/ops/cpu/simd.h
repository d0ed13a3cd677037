// Sixteen floats at a time with the compiler's vector types: one source for AVX-512, AVX2 and anything else.
// Used by every file of the CPU backend.
#pragma once

#include <array>
#include <cmath>

#include "model/ops/cpu/simd_memory.h"

namespace zoetrope::simd {

/// Sum of the lanes, halves first.
inline float sum(F16 v) {
#ifdef __AVX512F__
  return _mm512_reduce_add_ps(std::bit_cast<__m512>(v));
#else
  float lanes[kLanes];
  store(lanes, v);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
#endif
}
/// Largest lane.
inline float max(F16 v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i + width] > lanes[i] ? lanes[i + width] : lanes[i];
  return lanes[0];
}
/// Sum of the lanes in their order.
inline double sum(D8 v) {
  double total = 0;
  for (int i = 0; i < 8; ++i) total += v[i];
  return total;
}
/// Lane by lane; b where one is NaN.
inline F16 max(F16 a, F16 b) {
#ifdef __AVX512F__
  return std::bit_cast<F16>(_mm512_max_ps(std::bit_cast<__m512>(a), std::bit_cast<__m512>(b)));
#else
  return a > b ? a : b;
#endif
}
/// The same for the smaller one.
inline F16 min(F16 a, F16 b) {
#ifdef __AVX512F__
  return std::bit_cast<F16>(_mm512_min_ps(std::bit_cast<__m512>(a), std::bit_cast<__m512>(b)));
#else
  return a < b ? a : b;
#endif
}
/// v between -limit and limit; any of these for NaN.
inline F16 clamp(F16 v, float limit) {
#ifdef __AVX512DQ__
  constexpr int kSmallerWithSign = 2;
  return std::bit_cast<F16>(
      _mm512_range_ps(std::bit_cast<__m512>(v), _mm512_set1_ps(limit), kSmallerWithSign));
#else
  return max(min(v, splat(limit)), splat(-limit));
#endif
}
/// 1 / v for normal v up to 2^126; relative error at most 2^-22.
inline F16 reciprocal(F16 v) {
#ifdef __AVX512F__
  const F16 guess = std::bit_cast<F16>(_mm512_rcp14_ps(std::bit_cast<__m512>(v)));
  return guess + guess * (1.0f - v * guess);
#else
  return 1.0f / v;
#endif
}
/// Square roots, correctly rounded.
inline F16 sqrt(F16 v) {
#ifdef __AVX512F__
  return std::bit_cast<F16>(_mm512_sqrt_ps(std::bit_cast<__m512>(v)));
#else
  for (int i = 0; i < kLanes; ++i) v[i] = std::sqrt(v[i]);
  return v;
#endif
}

/// Four running sums, so that no addition waits for the one before; see `for_four_lanes`.
using Sums = std::array<F16, 4>;
/// All lanes of all four.
inline float sum(const Sums& s) { return sum((s[0] + s[1]) + (s[2] + s[3])); }

constexpr float kRound = 0x1.8p23f;  ///< x + kRound ends with the integer next to x

/// 2^(n + f), n being the integer at the end of `shifted`. Relative error 1e-8 + rounding for degree 6, 7e-6
/// for 4.
/// Source: |f| <= 1/2; 2^f = 1 + f q(f), q interpolating (2^f - 1) / f at Chebyshev nodes.
template <int kDegree>
inline __attribute__((always_inline)) F16 exp2_of_sum(F16 shifted, F16 f) {
  static_assert(kDegree == 4 || kDegree == 6);
  F16 p;
  if constexpr (kDegree == 6) {
    p = f * 1.54531629e-4f + 1.33908634e-3f;
    p = p * f + 9.61808256e-3f;
    p = p * f + 5.55035711e-2f;
    p = p * f + 2.40226508e-1f;
    p = p * f + 6.93147188e-1f;
  } else {
    p = f * 9.65671029e-3f + 5.58382829e-2f;
    p = p * f + 2.40225301e-1f;
    p = p * f + 6.93136734e-1f;
  }
  p = p * f + 1.0f;
  return std::bit_cast<F16>(std::bit_cast<I16>(p) + (std::bit_cast<I16>(shifted) << 23));
}
/// 2^x for x <= 127, at least 2^-126; NaN stays NaN.
template <int kDegree>
inline __attribute__((always_inline)) F16 exp2(F16 x) {
  const F16 c = max(splat(-126.0f), x), shifted = c + kRound;
  return exp2_of_sum<kDegree>(shifted, c - (shifted - kRound));
}
/// 2^(x y) for |x y| <= 126.
template <int kDegree>
inline __attribute__((always_inline)) F16 exp2_of_product(F16 x, F16 y) {
  const F16 shifted = x * y + kRound;
  return exp2_of_sum<kDegree>(shifted, x * y - (shifted - kRound));
}

}  // namespace zoetrope::simd
