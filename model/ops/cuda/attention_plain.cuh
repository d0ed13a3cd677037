// Tiles of the plain attention kernels: 256 threads as a 16 x 16 grid; thread (ty, tx) owns rows ty + 16 i of
// the block's resident tile and columns tx + 16 j of a score tile. All in f32; operands of either type are
// widened on their way into shared memory. Operand of a warp are read and written by that warp only.
#pragma once

#include "model/ops/cuda/attention_rows.cuh"
#include "model/ops/cuda/launch.h"

namespace zoetrope::cuda {

/// Tile sizes for head width D: at D = 128 the backward kernels hold 2 x 64 resident and 2 x 16 streamed rows
/// of 132 floats and 2 x 64 x 20 scores, 95 KB, below the 99 KiB of the smallest supported devices.
template <int D>
struct Plain {
  static constexpr int kThreads = 256, kBlocksPerSm = D == 128 ? 1 : 2;  // at least, by registers
  static constexpr int kRows = D <= 128 ? 64 : 16, kColumns = D <= 64 ? 32 : 16;
  static constexpr int kRowsEach = kRows / 16, kColumnsEach = kColumns / 16;
  static constexpr int kPitch = D + 4, kScorePitch = kColumns + 4;  // 16-byte rows, shifted by 4 banks each
  static constexpr int kWide = D >= 64 ? 4 : 2;                     // adjacent output columns of a thread
  static constexpr int kVectors = D / 16 / kWide;
  static constexpr int kResident = kRows * kPitch, kStreamed = kColumns * kPitch,
                       kScores = kRows * kScorePitch;
};

/// Adjacent floats that are loaded in one access.
template <int kSize>
struct Floats {
  alignas(4 * kSize) float v[kSize];
};
/// `from` is aligned to all of them.
template <int kSize>
__device__ inline Floats<kSize> load_floats(const float* from) {
  return *reinterpret_cast<const Floats<kSize>*>(from);
}

/// The thread's place in the grid.
__device__ inline int tile_x() { return int(threadIdx.x) % 16; }
__device__ inline int tile_y() { return int(threadIdx.x) / 16; }

/// Operand [0, count) of one head into shared memory as f32, zeros below them and right of `width`.
/// Cost: scalar reads, coalesced; the kernels are bound by multiply-adds.
template <int D, int kTileRows, class C>
__device__ void load_plain(float* to, const C* from, int64_t stride, int count, int width) {
  for (int i = int(threadIdx.x); i < kTileRows * D; i += Plain<D>::kThreads) {
    const int row = i / D, column = i % D;
    const bool there = row < count && column < width;
    to[row * Plain<D>::kPitch + column] = there ? float(from[row * stride + column]) : 0.0f;
  }
}

/// One thread's part of a score tile.
template <int D>
using Scores = float[Plain<D>::kRowsEach][Plain<D>::kColumnsEach];
/// One thread's part of an output tile: its rows, columns (16 vector + tx) kWide and kWide - 1 more.
template <int D>
using Outputs = float[Plain<D>::kRowsEach][D / 16];

/// scores = a x^T for the thread's rows of `a` and of `x`.
template <int D>
__device__ void score_tile(Scores<D>& scores, const float* a, const float* x) {
  using P = Plain<D>;
  for (int i = 0; i < P::kRowsEach; ++i)
    for (int j = 0; j < P::kColumnsEach; ++j) scores[i][j] = 0;
#pragma unroll 4
  for (int c = 0; c < D; c += 4) {
    Floats<4> column[P::kColumnsEach];
    for (int j = 0; j < P::kColumnsEach; ++j)
      column[j] = load_floats<4>(x + (tile_x() + 16 * j) * P::kPitch + c);
    for (int i = 0; i < P::kRowsEach; ++i) {
      const Floats<4> row = load_floats<4>(a + (tile_y() + 16 * i) * P::kPitch + c);
      for (int j = 0; j < P::kColumnsEach; ++j)
        for (int e = 0; e < 4; ++e) scores[i][j] = fmaf(row.v[e], column[j].v[e], scores[i][j]);
    }
  }
}

/// Puts the thread's scores where `add_weighted` reads them.
template <int D>
__device__ void put_scores(float* weights, const Scores<D>& scores) {
  using P = Plain<D>;
  for (int i = 0; i < P::kRowsEach; ++i)
    for (int j = 0; j < P::kColumnsEach; ++j)
      weights[(tile_y() + 16 * i) * P::kScorePitch + tile_x() + 16 * j] = scores[i][j];
}

/// outputs += weights x: rows of weights are the thread's rows, x the streamed tile.
template <int D>
__device__ void add_weighted(Outputs<D>& outputs, const float* weights, const float* x) {
  using P = Plain<D>;
#pragma unroll 1
  for (int s = 0; s < P::kColumns; s += 4) {
    Floats<4> weight[P::kRowsEach];
    for (int i = 0; i < P::kRowsEach; ++i)
      weight[i] = load_floats<4>(weights + (tile_y() + 16 * i) * P::kScorePitch + s);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      for (int n = 0; n < P::kVectors; ++n) {
        const auto values = load_floats<P::kWide>(x + (s + e) * P::kPitch + (16 * n + tile_x()) * P::kWide);
        for (int i = 0; i < P::kRowsEach; ++i)
          for (int w = 0; w < P::kWide; ++w)
            outputs[i][n * P::kWide + w] = fmaf(weight[i].v[e], values.v[w], outputs[i][n * P::kWide + w]);
      }
  }
}

/// Calls f(row of the tile, column, value) for the thread's outputs inside `count` rows and `width` columns.
template <int D, class F>
__device__ void for_outputs(const Outputs<D>& outputs, int count, int width, F&& f) {
  using P = Plain<D>;
#pragma unroll
  for (int i = 0; i < P::kRowsEach; ++i)
#pragma unroll
    for (int n = 0; n < P::kVectors; ++n)
#pragma unroll
      for (int w = 0; w < P::kWide; ++w) {
        const int row = tile_y() + 16 * i, column = (16 * n + tile_x()) * P::kWide + w;
        if (row < count && column < width) f(i, row, column, outputs[i][n * P::kWide + w]);
      }
}

}  // namespace zoetrope::cuda
