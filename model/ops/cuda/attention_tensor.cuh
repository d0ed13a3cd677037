// Tiles of the tensor-core attention kernels: bf16 rows of one head in shared memory, products of tiles on
// mma.m16n8k16 with f32 sums, and the fragments' places. A warp owns 16 m rows of the left operand; lane 4 g
// + t holds rows g, g + 8 and columns 2 t, 2 t + 1 of each 16 x 8 tile of sums.
#pragma once

#include "model/ops/cuda/attention_rows.cuh"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/ptx.cuh"

namespace zoetrope::cuda {

/// Places in a tile of rows of D bf16. Note [Swizzled tiles]: ldmatrix reads eight 16-byte chunks of eight
/// rows at once, in one of the 8 x 16 B columns of banks unless they are spread: chunk c of row r lies at c ^
/// (r mod 8). Tiles start at multiples of 256 bytes, so that going over pairs of chunks is an xor of the
/// address.
template <int D>
struct Tile {
  static constexpr int kRowBytes = D * 2, kChunks = D / 8;
  /// Byte of chunk `chunk` of row `row`.
  __device__ static uint32_t place(int row, int chunk) {
    return uint32_t(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
  }
  /// Where this lane points ldmatrix for a 16 x 16 left operand, or for a right operand that is read
  /// transposed (rows are the summed index): rows 0..15, then the second eight columns.
  __device__ static uint32_t left_lane() { return place(int(threadIdx.x) & 15, (int(threadIdx.x) >> 4) & 1); }
  /// The same for 16 rows of a right operand whose rows are the result's columns.
  __device__ static uint32_t right_lane() {
    const int lane = int(threadIdx.x) & 31;
    return place((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  }
};

/// Starts the copy of rows [0, count) of one head into a tile; rows below become zeros. Places inside a tile
/// are 32-bit numbers: 128 rows of at most kMostStride elements. A smaller kUnroll takes fewer registers.
template <int D, int kTileRows, int kThreads, int kUnroll = 16>
__device__ void load_tile(uint32_t tile, const bf16* from, int stride, int count) {
  constexpr int kChunks = Tile<D>::kChunks, kTotal = kTileRows * kChunks;
  static_assert(kTotal % kThreads == 0);
#pragma unroll kUnroll
  for (int i = 0; i < kTotal / kThreads; ++i) {
    const int index = int(threadIdx.x) + i * kThreads, row = index / kChunks, chunk = index % kChunks;
    const bool there = row < count;
    cp_async_16(tile + Tile<D>::place(row, chunk), from + (there ? row * stride : 0) + chunk * 8, there);
  }
}

/// Sums of a warp: 16 kM rows by 8 kN columns.
template <int kM, int kN>
using Sums = float[kM][kN][4];
/// A warp's left operand in registers: 16 kM rows by 16 kSteps of the summed index.
template <int kM, int kSteps>
using Fragments = uint32_t[kM][kSteps][4];

/// Sets all sums to 0.
template <int kM, int kN>
__device__ void clear(Sums<kM, kN>& sums) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[m][n][e] = 0;
}

/// sums = left right^T over D columns: `left` is the warp's rows at left_lane(), `right` a tile at
/// right_lane().
template <int D, int kM, int kN>
__device__ void multiply_tiles(Sums<kM, kN>& sums, uint32_t left, uint32_t right) {
  clear<kM, kN>(sums);
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    uint32_t a[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m)
      ldmatrix_x4(a[m], (left ^ uint32_t(step << 5)) + m * 16 * Tile<D>::kRowBytes);
#pragma unroll
    for (int n = 0; n < kN; n += 2) {
      uint32_t b[4];
      ldmatrix_x4(b, (right ^ uint32_t(step << 5)) + n * 8 * Tile<D>::kRowBytes);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(sums[m][n], a[m], b[0], b[1]);
        mma_m16n8k16(sums[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// sums += left right over 16 kSteps rows of the tile `right`, which is read transposed at left_lane().
template <int D, int kM, int kSteps>
__device__ void add_product(Sums<kM, D / 8>& sums, const Fragments<kM, kSteps>& left, uint32_t right) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, (right ^ uint32_t(n << 4)) + step * 16 * Tile<D>::kRowBytes);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(sums[m][n], left[m][step], b[0], b[1]);
        mma_m16n8k16(sums[m][n + 1], left[m][step], b[2], b[3]);
      }
    }
}

/// Sums rounded to bf16 as the left operand of the next product: the places agree, two tiles of 8 columns
/// make one step of 16.
template <int kM, int kN>
__device__ void to_fragments(Fragments<kM, kN / 2>& left, const Sums<kM, kN>& sums) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      left[m][n / 2][(n % 2) * 2] = pack_bf16(sums[m][n][0], sums[m][n][1]);
      left[m][n / 2][(n % 2) * 2 + 1] = pack_bf16(sums[m][n][2], sums[m][n][3]);
    }
}

}  // namespace zoetrope::cuda
