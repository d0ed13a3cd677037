// bfloat16 for kernels that are compiled for the CPU: storage and conversions; arithmetic belongs in float.
#pragma once

#include <simt_device.h>

#include "core/dtype.h"

/// Round to nearest even, NaN stays NaN, as the device's conversion does.
struct __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits(zoetrope::bf16(value).bits) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return float(value); }
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {low, high}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 pair) { return {pair.x, pair.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {float(pair.x), float(pair.y)}; }
inline float __low2float(__nv_bfloat162 pair) { return float(pair.x); }
inline float __high2float(__nv_bfloat162 pair) { return float(pair.y); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
