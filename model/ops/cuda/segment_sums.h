// The host's side of Note [Segment sums] (segment_sums.cuh).
#pragma once

#include <algorithm>
#include <array>

#include "core/arena.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/cuda/segment_sums.cuh"

namespace zoetrope::cuda {

/// Rows per block: 16 at least, so that short inputs have blocks for many processors; at most 512 blocks,
/// some four for each processor, which bounds the work space. They depend on the number of rows alone.
inline constexpr int64_t kMinBlockRows = 16, kMaxRowBlocks = 512;
inline int64_t block_rows_of(int64_t num_rows) {
  return std::max(kMinBlockRows, ceil_div(num_rows, kMaxRowBlocks));
}

/// Work space of sums over [num_rows, width] matrices, `num` at a time. Units: bytes.
inline int64_t segment_sums_bytes(int64_t num_rows, int64_t width, int64_t num) {
  const int64_t blocks = std::min(kMaxRowBlocks, ceil_div(num_rows, kMinBlockRows));
  return Arena::padded(2 * blocks * num * ceil_div(width, 8) * 8 * int64_t(sizeof(float))) +
         Arena::padded(2 * blocks * int64_t(sizeof(int32_t)));
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
