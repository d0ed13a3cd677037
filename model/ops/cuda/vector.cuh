// Rows of matrices in kernels, and accesses of several elements at a time: 16 bytes at once where all rows
// start on 16 bytes, element by element at a row's end and where they don't.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/dtype.h"

namespace zoetrope::cuda {

/// A row-strided matrix as kernels see it; stride 0 is one row for all.
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t stride = 0;

  __device__ T* operator[](int64_t t) const { return data + t * stride; }
};

/// Rows of which row t of another matrix uses row segment[t], or row 0 when there are no segments.
struct SegmentRows {
  const float* data = nullptr;
  int64_t stride = 0;
  const int32_t* segment = nullptr;

  __device__ const float* operator[](int64_t t) const { return segment ? data + segment[t] * stride : data; }
};

/// kN consecutive elements in registers, as f32.
template <int kN>
struct Pack {
  float v[kN];

  __device__ float& operator[](int j) { return v[j]; }
  __device__ float operator[](int j) const { return v[j]; }
};

/// Elements that are loaded or stored in one instruction.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Aligned {  // so that one access is enough
  T elements[kCount];
};

/// How many elements of T one access takes of a pack of kN: up to 16 bytes.
template <class T, int kN>
inline constexpr int kPerAccess = kN * sizeof(T) > 16 ? int(16 / sizeof(T)) : kN;

/// Elements [0, n) from `p`, 0 beyond. Packs of four and more start on multiples of their access size.
template <int kN, class T>
__device__ inline Pack<kN> load(const T* p, int n) {
  Pack<kN> pack;
  if constexpr (kN >= 4) {
    if (n >= kN) {
      constexpr int kEach = kPerAccess<T, kN>;
#pragma unroll
      for (int i = 0; i < kN; i += kEach) {
        const auto part = *reinterpret_cast<const Aligned<T, kEach>*>(p + i);
#pragma unroll
        for (int j = 0; j < kEach; ++j) pack[i + j] = float(part.elements[j]);
      }
      return pack;
    }
  }
#pragma unroll
  for (int j = 0; j < kN; ++j) pack[j] = j < n ? float(p[j]) : 0.0f;
  return pack;
}

/// Stores elements [0, n) of a pack, rounded to T; as `load`.
template <int kN, class T>
__device__ inline void store(T* p, const Pack<kN>& pack, int n) {
  if constexpr (kN >= 4) {
    if (n >= kN) {
      constexpr int kEach = kPerAccess<T, kN>;
#pragma unroll
      for (int i = 0; i < kN; i += kEach) {
        Aligned<T, kEach> part;
#pragma unroll
        for (int j = 0; j < kEach; ++j) part.elements[j] = T(pack[i + j]);
        *reinterpret_cast<Aligned<T, kEach>*>(p + i) = part;
      }
      return;
    }
  }
#pragma unroll
  for (int j = 0; j < kN; ++j)
    if (j < n) p[j] = T(pack[j]);
}

}  // namespace zoetrope::cuda
