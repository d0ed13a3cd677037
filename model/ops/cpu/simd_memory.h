// Sixteen floats at a time with the compiler's vector types: how they come from memory and go there. bf16 is
// widened on load and rounded on store. Files of the CPU backend include simd.h, which adds the arithmetic.
#pragma once

#ifdef __AVX512F__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms inside the header (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/dtype.h"

namespace zoetrope::simd {

inline constexpr int64_t kLanes = 16;
using F16 = float __attribute__((vector_size(64)));
using I16 = int32_t __attribute__((vector_size(64)));
using U16 = uint32_t __attribute__((vector_size(64)));
using H16 = uint16_t __attribute__((vector_size(32)));
using D8 = double __attribute__((vector_size(64)));
template <int kIndex>
using Index = std::integral_constant<int, kIndex>;

inline F16 splat(float value) { return F16{} + value; }

/// Sixteen values from memory of any alignment.
inline F16 load(const float* p) {
  F16 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// The same from bf16.
inline F16 load(const bf16* p) {
#ifdef __AVX512F__  // the compiler widens halves of the vector, in five instructions
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return std::bit_cast<F16>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
#else
  H16 h;
  std::memcpy(&h, p, sizeof h);
  return std::bit_cast<F16>(__builtin_convertvector(h, U16) << 16);
#endif
}
/// The same to memory.
inline void store(float* p, F16 v) { std::memcpy(p, &v, sizeof v); }
/// Rounds to nearest even, as `bf16` does; NaN stays NaN. AVX512-BF16 makes numbers below 2^-126 zero.
inline void store(bf16* p, F16 v) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      std::bit_cast<__m256i>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(v))));
#else
  const U16 u = std::bit_cast<U16>(v);
  const U16 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const U16 nan = (u >> 16) | 0x40u;
  const H16 h = __builtin_convertvector((v == v) ? rounded : nan, H16);
  std::memcpy(static_cast<void*>(p), &h, sizeof h);
#endif
}

/// The same past the caches, so that the line is not read before it is written. `p` is a multiple of 64
/// bytes; `fence` makes the values visible to other threads.
inline void stream(float* p, F16 v) {
#ifdef __AVX512F__
  _mm512_stream_ps(p, std::bit_cast<__m512>(v));
#else
  store(p, v);
#endif
}
/// The same in two halves of a line, which are to follow one another at once; `p` is a multiple of 32 bytes.
inline void stream(bf16* p, F16 v) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p),
                      std::bit_cast<__m256i>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(v))));
#else
  store(p, v);
#endif
}
/// Orders `stream` before what follows.
inline void fence() {
#ifdef __AVX512F__
  _mm_sfence();
#endif
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

/// Asks for the line at `p` to come to the second-level cache; nothing need be there.
inline void ask(const void* p) { __builtin_prefetch(p, 0, 2); }
/// `load`, which also asks for the line that lies `ahead` elements further on.
template <class T>
inline F16 load_ahead(const T* p, int64_t count, int64_t ahead) {
  ask(p + ahead);
  return load(p, count);
}

/// `stream` or `store`.
template <bool kStream, class T>
inline void put(T* p, F16 v, int64_t count) {
  if (kStream && count >= kLanes) stream(p, v);
  else store(p, v, count);
}

/// Calls f(offset, lanes) for [0, n) in steps of sixteen; the last step may have fewer lanes.
template <class F>
inline __attribute__((always_inline)) void for_lanes(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}

/// The same four steps at a time: f(offset, lanes, k) with k = 0 to 3 as a constant, for sums that would wait
/// for one another if there were only one.
template <class F>
inline __attribute__((always_inline)) void for_four_lanes(int64_t n, F&& f) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    f(i, kLanes, Index<0>{});
    f(i + kLanes, kLanes, Index<1>{});
    f(i + 2 * kLanes, kLanes, Index<2>{});
    f(i + 3 * kLanes, kLanes, Index<3>{});
  }
  for (; i < n; i += kLanes) f(i, n - i < kLanes ? n - i : kLanes, Index<0>{});
}

}  // namespace zoetrope::simd
