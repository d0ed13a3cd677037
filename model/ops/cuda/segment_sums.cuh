// Column sums over the rows of each segment (gradients of shifts, scales, gates, norm weights and biases) in
// an order that depends on the rows alone: rows are summed within fixed blocks of rows, blocks in their
// order.
//
// Note [Segment sums]: rows of one segment are contiguous. A block of threads takes `block_rows` rows and
// walks over their runs of equal segments. A run that begins and ends inside the block is nobody else's, so
// its sums are added to the output at once; the first and the last run may go on in other blocks, so their
// sums go to slot b or slot B + b of `partial`, and `owner` says whose they are (-1: the block has a single
// run). A second kernel adds the slots of each segment to the output, in the order of slots. Work space: 2 B
// (kNum width + 1) x 4 bytes with B <= 512; extra traffic at T = 32,760: 2 kNum / 64 x 4 bytes an element, 2
// % of the backward norm's.
#pragma once

#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/vector.cuh"
#include "model/ops/cuda/warp.cuh"

namespace zoetrope::cuda {

/// Sums of kNum matrices of the same shape [num_rows, width].
template <int kNum>
struct SegmentSums {
  Rows<float> out[kNum];   ///< [S, width], +=
  float* partial;          ///< [2 num_blocks, kNum, padded_width]
  int32_t* owner;          ///< [2 num_blocks]
  const int32_t* segment;  ///< [num_rows], or null for a single segment 0
  int64_t num_rows, width, padded_width, block_rows, num_blocks;

  __device__ int64_t first_row() const { return blockIdx.x * block_rows; }
  __device__ int64_t end_row() const { return min(num_rows, first_row() + block_rows); }

  /// End of the run of one segment that starts at row `begin`, within the block's rows. Whole warps call it.
  __device__ int64_t run_end(int64_t begin) const {
    const int64_t end = end_row();
    if (segment == nullptr) return end;
    const int32_t s = segment[begin];
    for (int64_t t = begin + 1 + lane_index();; t += kWarp) {
      const unsigned others = __ballot_sync(kAllLanes, t >= end || segment[t] != s);
      if (others != 0) return t - lane_index() + __ffs(int(others)) - 1;
    }
  }

  /// Says whose the first and the last run's sums are; called once a run, by one thread of all that share the
  /// rows.
  __device__ void name_owner(int64_t begin, int64_t end) const {
    const int32_t s = segment ? segment[begin] : 0;
    const bool is_first = begin == first_row(), is_last = end == end_row();
    if (is_first) owner[blockIdx.x] = s;
    if (is_last) owner[num_blocks + blockIdx.x] = is_first ? -1 : s;
  }

  /// Where the sum of matrix i over the run in column c lies, for threads that add to it row by row: the
  /// output, or the run's slot, which starts as what is there.
  __device__ float* place(int64_t begin, int64_t end, int i, int64_t c) const {
    if (has_slot(begin, end)) return partial + (slot_of(begin) * kNum + i) * padded_width + c;
    return out[i][segment ? segment[begin] : 0] + c;
  }
  /// Whether the run of rows [begin, end) may go on in another block.
  __device__ bool has_slot(int64_t begin, int64_t end) const {
    return begin == first_row() || end == end_row();
  }
  __device__ int64_t slot_of(int64_t begin) const {
    return begin == first_row() ? blockIdx.x : num_blocks + blockIdx.x;
  }

  /// Takes the sums of matrix i over the run of rows [begin, end), columns [c, c + kN).
  template <int kN>
  __device__ void put(int64_t begin, int64_t end, int i, int64_t c, const Pack<kN>& sums) const {
    const int n = int(min(int64_t(kN), width - c));
    float* to = place(begin, end, i, c);
    if (has_slot(begin, end)) {
      store(to, sums, n);
    } else {
#pragma unroll
      for (int j = 0; j < kN; ++j)
        if (j < n) to[j] += sums[j];
    }
  }
};

inline constexpr int kFinishWarps = 16, kFinishColumns = 4;  // columns of a lane: one 16-byte load

struct FinishShared {
  Pack<kFinishColumns> sums[kFinishWarps][kWarp];
};

/// Adds the slots of segment blockIdx.x to its row of each output. A warp adds up a sixteenth of the slots, a
/// lane four columns; then one warp adds up the sixteen sums.
template <int kNum>
__global__ void __launch_bounds__(kFinishWarps* kWarp) finish_segment_sums(SegmentSums<kNum> sums) {
  FinishShared& shared = shared_memory<FinishShared>();
  const int64_t s = blockIdx.x;
  const int64_t column = (int64_t(blockIdx.y) * kWarp + lane_index()) * kFinishColumns;
  const int64_t stride = kNum * sums.padded_width;
  const bool has_columns = column < stride;
  const int64_t num_slots = 2 * sums.num_blocks, each = (num_slots + kFinishWarps - 1) / kFinishWarps;
  const int64_t begin = warp_index() * each, end = min(num_slots, begin + each);
  Pack<kFinishColumns> total{};
  for (int64_t base = begin; base < end; base += kWarp) {
    const int64_t mine = base + lane_index();
    const unsigned owned = __ballot_sync(kAllLanes, mine < end && sums.owner[mine] == s);
    if (owned == 0 || !has_columns) continue;
#pragma unroll 8
    for (int k = 0; k < kWarp; ++k) {
      Pack<kFinishColumns> slot{};
      if (owned >> k & 1)
        slot = load<kFinishColumns>(sums.partial + (base + k) * stride + column, kFinishColumns);
#pragma unroll
      for (int j = 0; j < kFinishColumns; ++j) total[j] += slot[j];
    }
  }
  shared.sums[warp_index()][lane_index()] = total;
  __syncthreads();  // all warps' sums are there
  if (warp_index() != 0 || !has_columns) return;
  for (int warp = 1; warp < kFinishWarps; ++warp)
#pragma unroll
    for (int j = 0; j < kFinishColumns; ++j) total[j] += shared.sums[warp][lane_index()][j];
  const int64_t c = column % sums.padded_width;
#pragma unroll
  for (int i = 0; i < kNum; ++i) {
    if (column / sums.padded_width != i) continue;
    float* to = sums.out[i][s] + c;
#pragma unroll
    for (int j = 0; j < kFinishColumns; ++j)
      if (c + j < sums.width) to[j] += total[j];
  }
}

}  // namespace zoetrope::cuda
