// Sixteen floats at a time with the compiler's vector types: one source for AVX-512, AVX2 and anything else.
// Used by every file of the CPU backend; bf16 is widened on load and rounded on store.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/dtype.h"

namespace zoetrope::simd {

inline constexpr int64_t kLanes = 16;
using F16 = float __attribute__((vector_size(64)));
using I16 = int32_t __attribute__((vector_size(64)));
using U16 = uint32_t __attribute__((vector_size(64)));
using H16 = uint16_t __attribute__((vector_size(32)));
using D8 = double __attribute__((vector_size(64)));

inline F16 splat(float value) { return F16{} + value; }

/// Sixteen values from memory of any alignment.
inline F16 load(const float* p) {
  F16 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline F16 load(const bf16* p) {
  H16 h;
  std::memcpy(&h, p, sizeof h);
  return std::bit_cast<F16>(__builtin_convertvector(h, U16) << 16);
}
/// The same to memory.
inline void store(float* p, F16 v) { std::memcpy(p, &v, sizeof v); }
/// Rounds to nearest even, as `bf16` does; NaN stays NaN.
inline void store(bf16* p, F16 v) {
  const U16 u = std::bit_cast<U16>(v);
  const U16 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const U16 nan = (u >> 16) | 0x40u;
  const H16 h = __builtin_convertvector((v == v) ? rounded : nan, H16);
  std::memcpy(static_cast<void*>(p), &h, sizeof h);
}

/// The first `count` lanes; the others are zero.
template <class T>
inline F16 load(const T* p, int64_t count) {
  if (count >= kLanes) return load(p);
  T lanes[kLanes] = {};
  std::memcpy(static_cast<void*>(lanes), p, size_t(count) * sizeof(T));
  return load(lanes);
}
template <class T>
inline void store(T* p, F16 v, int64_t count) {
  if (count >= kLanes) return store(p, v);
  T lanes[kLanes];
  store(lanes, v);
  std::memcpy(static_cast<void*>(p), lanes, size_t(count) * sizeof(T));
}

/// Calls f(offset, lanes) for [0, n) in steps of sixteen; the last step may have fewer lanes.
template <class F>
inline __attribute__((always_inline)) void for_lanes(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}

/// Sum or maximum of the lanes, halves first.
inline float sum(F16 v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}
inline float max(F16 v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i + width] > lanes[i] ? lanes[i + width] : lanes[i];
  return lanes[0];
}
inline double sum(D8 v) {
  double total = 0;
  for (int i = 0; i < 8; ++i) total += v[i];
  return total;
}
inline F16 max(F16 a, F16 b) { return a > b ? a : b; }

/// e^x within 2 units in the last place; below -87.3 it is 0, above 88.7 infinity, NaN stays NaN.
/// Source: x = n ln 2 + r, |r| <= ln 2 / 2; Taylor polynomial of degree 7 (next term 5e-9).
inline F16 exp(F16 x) {
  constexpr float kLog2e = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // high part exact in 10 bits
  constexpr float kLowest = -87.3f, kHighest = 88.7f;
  F16 c = x < kLowest ? splat(kLowest) : x;
  c = c > kHighest ? splat(kHighest) : c;
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to the nearest integer, in the low bits
  const F16 shifted = c * kLog2e + kRound;
  const F16 n = shifted - kRound;
  const F16 r = (c - n * kLn2High) - n * kLn2Low;
  F16 p = r * (1.0f / 5040) + (1.0f / 720);
  p = p * r + (1.0f / 120);
  p = p * r + (1.0f / 24);
  p = p * r + (1.0f / 6);
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const I16 exponent = std::bit_cast<I16>(shifted) << 23;
  const F16 y = std::bit_cast<F16>(std::bit_cast<I16>(p) + exponent);
  const F16 low = x < kLowest ? splat(0.0f) : (x > kHighest ? splat(std::numeric_limits<float>::infinity()) : y);
  return x == x ? low : x;
}

/// 2^x for x <= 127, at least 2^-126; NaN stays NaN. Relative error 1e-8 + rounding for degree 6, 7e-6 for 4.
/// Source: x = n + f, |f| <= 1/2; 2^f = 1 + f q(f), q interpolating (2^f - 1) / f at Chebyshev nodes.
template <int kDegree>
inline F16 exp2(F16 x) {
  static_assert(kDegree == 4 || kDegree == 6);
  constexpr float kLowest = -126.0f, kRound = 0x1.8p23f;
  const F16 c = x < kLowest ? splat(kLowest) : x;
  const F16 shifted = c + kRound, f = c - (shifted - kRound);
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

}  // namespace zoetrope::simd
