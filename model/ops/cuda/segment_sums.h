// The host's side of Note [Segment sums] (segment_sums.cuh).
#pragma once

#include <algorithm>
#include <array>

#include "core/arena.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/cuda/segment_sums.cuh"
#include "model/ops/cuda/sizes.h"

namespace zoetrope::cuda {

/// Rows of a block; they depend on the number of rows alone.
inline int64_t block_rows_of(int64_t num_rows) {
  return std::max(kCudaBlockRows, ceil_div(num_rows, kCudaRowBlocks));
}

/// Sums of kNum matrices [num_rows >= 1, width] into `out` (rows of segments, or vectors without `segment`).
/// Work space is taken from `arena` until the caller's scope ends.
template <int kNum>
SegmentSums<kNum> make_segment_sums(Arena& arena, int64_t num_rows, int64_t width, const Tensor& segment,
                                    const std::array<Tensor, kNum>& out) {
  SegmentSums<kNum> sums;
  for (int i = 0; i < kNum; ++i) sums.out[i] = rows_of<float>(out[size_t(i)]);
  sums.segment = segment.defined() ? segment.data<int32_t>() : nullptr;
  sums.num_rows = num_rows;
  sums.width = width;
  sums.padded_width = ceil_div(width, 8) * 8;
  sums.block_rows = block_rows_of(num_rows);
  sums.num_blocks = ceil_div(num_rows, sums.block_rows);
  const Tensor partial = arena.take({2 * sums.num_blocks, kNum * sums.padded_width}, DType::kF32);
  const Tensor owner = arena.take({2 * sums.num_blocks}, DType::kI32);
  sums.partial = partial.data<float>();
  sums.owner = owner.data<int32_t>();
  return sums;
}

/// Adds what the blocks left in the work space to the rows of `num_segments` segments.
template <int kNum>
void finish(const SegmentSums<kNum>& sums, int64_t num_segments, cudaStream_t stream) {
  const int64_t tiles = ceil_div(kNum * sums.padded_width, kWarp * kFinishColumns);
  launch(finish_segment_sums<kNum>,
         LaunchShape{dim3(unsigned(num_segments), unsigned(tiles)), dim3(kFinishWarps * kWarp),
                     sizeof(FinishShared), "finish_segment_sums"},
         stream, sums);
}

}  // namespace zoetrope::cuda
