// Sums over the lanes of a warp and the threads of a block. Each is one fixed tree of additions, so a result
// has the same bits in whatever order threads run.
#pragma once

#include <cuda_runtime.h>

namespace zoetrope::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kMaxWarps = 32;  ///< of a block
inline constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane_index() { return int(threadIdx.x) % kWarp; }
__device__ inline int warp_index() { return int(threadIdx.x) / kWarp; }

/// The sum in every lane. All 32 lanes call it.
template <class T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

/// Shared memory of one `block_sum` of kNum values at a time.
template <class T, int kNum>
struct Partial {
  T sums[kNum][kMaxWarps];
};

/// Replaces each of kNum values by its sum over the block, a whole number of warps. All threads call it.
/// NOTE: `partial` may be written again only after the block's next barrier: callers alternate between two.
template <class T, int kNum>
__device__ inline void block_sum(T (&values)[kNum], Partial<T, kNum>& partial) {
  const int lane = lane_index(), num_warps = int(blockDim.x) / kWarp;
#pragma unroll
  for (int i = 0; i < kNum; ++i) {
    const T sum = warp_sum(values[i]);
    if (lane == 0) partial.sums[i][warp_index()] = sum;
  }
  __syncthreads();  // partial holds the sums of all warps
#pragma unroll
  for (int i = 0; i < kNum; ++i) values[i] = warp_sum(lane < num_warps ? partial.sums[i][lane] : T(0));
}

/// The same for a single value.
template <class T>
__device__ inline T block_sum(T value, Partial<T, 1>& partial) {
  T values[1] = {value};
  block_sum(values, partial);
  return values[0];
}

}  // namespace zoetrope::cuda
