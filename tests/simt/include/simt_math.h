// CUDA's built-in mathematics, bit casts, cache-hinted accesses and integer atomics. Approximate intrinsics
// (__expf, __fdividef, ...) are exact to rounding here: results on a device differ within their documented
// error. Floating-point atomics are deleted: their result depends on the order of threads.
#pragma once

#include <simt_device.h>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

// Macros, because glibc declares functions of these names without defining them.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define __fdividef(x, y) ((x) / (y))
#define __frcp_rn(x) (1.0f / (x))
#define __fsqrt_rn(x) sqrtf(x)
#define __frsqrt_rn(x) (1.0f / sqrtf(x))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __fadd_rn(x, y) ((x) + (y))
#define __fsub_rn(x, y) ((x) - (y))
#define __fmul_rn(x, y) ((x) * (y))
#define __fdiv_rn(x, y) ((x) / (y))
#define __saturatef(x) fminf(fmaxf(x, 0.0f), 1.0f)

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

constexpr float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
constexpr float __int_as_float(int x) { return std::bit_cast<float>(x); }
constexpr unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
constexpr int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline int __float2int_rn(float x) { return int(nearbyintf(x)); }
inline int __float2int_rd(float x) { return int(floorf(x)); }
inline int __float2int_rz(float x) { return int(x); }
constexpr float __int2float_rn(int x) { return float(x); }
constexpr float __uint2float_rn(unsigned x) { return float(x); }

constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(unsigned(x)); }
constexpr int __clzll(long long x) { return std::countl_zero((unsigned long long)(x)); }
constexpr int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(unsigned(x)) + 1; }
constexpr unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)(a)*b) >> 64);
}

#define ZT_SIMT_MIN_MAX(type)                                  \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
ZT_SIMT_MIN_MAX(int)
ZT_SIMT_MIN_MAX(unsigned int)
ZT_SIMT_MIN_MAX(long)
ZT_SIMT_MIN_MAX(unsigned long)
ZT_SIMT_MIN_MAX(long long)
ZT_SIMT_MIN_MAX(unsigned long long)
#undef ZT_SIMT_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}

namespace simt {

/// *at = change(*at), with what was there as the result. Floating-point atomics do not compile: their result
/// depends on the order of threads.
template <class T, class Change>
T atomic_change(T* at, Change change) {
  static_assert(std::is_integral_v<T>, "atomics of integers only");
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, change(old), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  switch_point();
  return old;
}

}  // namespace simt

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T old) { return T(old + value); });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T old) { return min(old, value); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T old) { return max(old, value); });
}
template <class T>
T atomicAnd(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T old) { return T(old & value); });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T old) { return T(old | value); });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return simt::atomic_change(at, [=](T old) { return old == expected ? value : old; });
}
