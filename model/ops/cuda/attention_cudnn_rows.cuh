// The kernels around cuDNN's plans: tables of where items lie, results merged or added (Note [Calls as
// plans]). Legend: rows of a run are counted from its first item on; an item's rows lie together on both
// sides.
#pragma once

#include "model/ops/cuda/attention_rows.cuh"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/vector.cuh"

namespace zoetrope::cuda {

/// One side (queries or keys) of a run's items. A by-value kernel parameter.
struct RunRows {
  static constexpr int kMost = 64;  // 3 x 64 x 4 B
  int32_t begin[kMost];             ///< first row in the operand
  int32_t count[kMost];
  int32_t first[kMost];  ///< first row in the run
  int32_t batch;

  /// Row where item `b` starts; of b = batch, the end of the last one.
  __device__ int64_t start(int b, bool in_run) const {
    const int item = min(b, batch - 1);
    return (in_run ? first[item] : begin[item]) + (b == batch ? count[item] : 0);
  }
};

/// Where a table of offsets is and what it is of: rows in the operand or in the run, `stride` elements apart.
struct OffsetTable {
  int64_t* offsets;
  int64_t stride;
  bool of_keys, in_run;
};
struct RunTables {
  static constexpr int kMost = 8;
  OffsetTable tables[kMost];
  int32_t *q_lengths, *kv_lengths;
  int32_t count;
};

/// Writes all tables; a thread an item.
__global__ void __launch_bounds__(2 * RunRows::kMost)
    run_tables_kernel(const __grid_constant__ RunTables to, const __grid_constant__ RunRows q,
                      const __grid_constant__ RunRows kv) {
  const int b = int(threadIdx.x);
  if (b > q.batch) return;
  for (int i = 0; i < to.count; ++i) {
    const OffsetTable& table = to.tables[i];
    table.offsets[b] = (table.of_keys ? kv : q).start(b, table.in_run) * table.stride;
  }
  if (b == q.batch) return;
  to.q_lengths[b] = q.count[b];
  to.kv_lengths[b] = kv.count[b];
}

constexpr int kRunThreads = 128;

/// Merges the run's output into (out, lse), or writes it there. A block a row, a thread a pack of columns.
/// Source: Note [CP softmax merge].
template <int kN, class O>
__global__ void __launch_bounds__(kRunThreads)
    merge_run_kernel(Rows<O> out, float* lse, Rows<const bf16> added, const float* added_lse,
                     const __grid_constant__ RunRows rows, int num_heads, int head_width, bool accumulate) {
  const int i = int(blockIdx.x), item = int(blockIdx.y);
  if (i >= rows.count[item]) return;
  const int64_t to = rows.begin[item] + i, from = rows.first[item] + i;
  const auto merged = [&](int head) {
    const float fresh = added_lse[from * num_heads + head];
    return accumulate ? merge(lse[to * num_heads + head], fresh) : Merge{0, 1, fresh};
  };
  for (int c = int(threadIdx.x) * kN; c < num_heads * head_width; c += kRunThreads * kN) {
    const Merge weights = merged(c / head_width);
    Pack<kN> sum = load<kN>(added[from] + c, kN);
    if (accumulate) {
      const auto old = load<kN>(out[to] + c, kN);
      for (int j = 0; j < kN; ++j) sum[j] = weights.keep * old[j] + weights.take * sum[j];
    }
    store(out[to] + c, sum, kN);
  }
  __syncthreads();  // all have read lse
  for (int head = int(threadIdx.x); head < num_heads; head += kRunThreads)
    lse[to * num_heads + head] = merged(head).lse;
}

/// dx += the run's gradient. A block a row.
template <int kN>
__global__ void __launch_bounds__(kRunThreads)
    add_run_kernel(Rows<float> dx, Rows<const bf16> added, const __grid_constant__ RunRows rows, int width) {
  const int i = int(blockIdx.x), item = int(blockIdx.y);
  if (i >= rows.count[item]) return;
  float* to = dx[rows.begin[item] + i];
  const bf16* from = added[rows.first[item] + i];
  for (int c = int(threadIdx.x) * kN; c < width; c += kRunThreads * kN) {
    Pack<kN> sum = load<kN>(to + c, kN);
    const auto more = load<kN>(from + c, kN);
    for (int j = 0; j < kN; ++j) sum[j] += more[j];
    store(to + c, sum, kN);
  }
}

/// Log-sum-exps from [T, H] to [batch, H, q_rows], 0 where an item has no row. A block a row.
__global__ void __launch_bounds__(kRunThreads)
    pad_lse_kernel(float* padded, const float* lse, const __grid_constant__ RunRows rows, int num_heads,
                   int64_t q_rows) {
  const int i = int(blockIdx.x), item = int(blockIdx.y);
  for (int head = int(threadIdx.x); head < num_heads; head += kRunThreads)
    padded[(int64_t(item) * num_heads + head) * q_rows + i] =
        i < rows.count[item] ? lse[int64_t(rows.begin[item] + i) * num_heads + head] : 0.0f;
}

}  // namespace zoetrope::cuda
