// Column sums over the rows of each segment (gradients of shifts, scales, gates, norm weights and biases), in
// an order that depends on the rows alone: rows are summed within fixed blocks, blocks in their order.
#pragma once

#include <algorithm>
#include <array>

#include "core/arena.h"
#include "core/thread_pool.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope::cpu {

inline constexpr int64_t kSumRows = 64;  // rows per block: short sums, and enough blocks for all threads

/// Adds to `sums[i]` [S, width] the rows that `row_work(t, s, accumulators)` adds into its accumulators
/// (kNum pointers to `width` floats). `segment` [T] i32, or null for a single segment 0.
/// A segment that begins and ends inside a block is nobody else's, so the block adds to it directly; the
/// block's first and last segment go through partial sums, which are added in block order.
template <int kNum, class RowWork>
void sum_by_segment(const ThreadPool& pool, Arena& arena, int64_t num_rows, int64_t width,
                    const int32_t* segment, const std::array<Tensor, kNum>& sums, const RowWork& row_work) {
  if (num_rows == 0) return;
  const ArenaScope scope(arena);
  const int64_t blocks = (num_rows + kSumRows - 1) / kSumRows;
  const Tensor partial = arena.take({blocks * 2, kNum * width}, DType::kF32);
  const Tensor inner = arena.take({pool.num_threads(), kNum * width}, DType::kF32);
  const Tensor owner = arena.take({blocks * 2}, DType::kI32);
  int32_t* owners = owner.data<int32_t>();
  const auto add = [&](int64_t s, const float* from) {
    for (int i = 0; i < kNum; ++i) {
      float* to = sums[size_t(i)].template row<float>(s);
      for (int64_t c = 0; c < width; ++c) to[c] += from[i * width + c];
    }
  };
  pool.parallel_for_indexed(blocks, [&](int64_t block, int thread) {
    const int64_t end = std::min(num_rows, (block + 1) * kSumRows);
    owners[2 * block] = owners[2 * block + 1] = -1;
    for (int64_t begin = block * kSumRows, next = begin; begin < end; begin = next) {
      const int32_t s = segment ? segment[begin] : 0;
      while (next < end && (!segment || segment[next] == s)) ++next;
      const bool is_first = begin == block * kSumRows, is_last = next == end;
      float* rows = is_first  ? partial.row<float>(2 * block)
                    : is_last ? partial.row<float>(2 * block + 1)
                              : inner.row<float>(thread);
      std::memset(rows, 0, size_t(kNum * width) * sizeof(float));
      std::array<float*, kNum> accumulators;
      for (int i = 0; i < kNum; ++i) accumulators[size_t(i)] = rows + i * width;
      for (int64_t t = begin; t < next; ++t) row_work(t, int64_t(s), accumulators);
      if (is_first || is_last) owners[2 * block + (is_first ? 0 : 1)] = s;
      else add(s, rows);
    }
    simd::fence();
  });
  for (int64_t slot = 0; slot < 2 * blocks; ++slot)
    if (owners[slot] >= 0) add(owners[slot], partial.row<float>(slot));
}

/// Runs work(first row, end) for all rows, in blocks.
template <class Work>
void for_blocks(const ThreadPool& pool, int64_t num_rows, const Work& work,
                int64_t rows_per_task = kSumRows) {
  pool.parallel_for((num_rows + rows_per_task - 1) / rows_per_task, [&](int64_t block) {
    work(block * rows_per_task, std::min(num_rows, (block + 1) * rows_per_task));
    simd::fence();
  });
}

/// Runs work(row) for all rows, in blocks.
template <class Work>
void for_rows(const ThreadPool& pool, int64_t num_rows, const Work& work, int64_t rows_per_task = kSumRows) {
  for_blocks(
      pool, num_rows,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) work(t);
      },
      rows_per_task);
}

// Note [Rows ahead]: what comes from memory is asked for some kilobytes before its use. The processor's own
// prefetcher keeps too few lines under way, and stops where a row of a wider matrix ends.
// An operator that passes over a row several times asks for a part of the next lines in each pass, since a
// burst of them would wait for one another.
inline constexpr int64_t kAheadBytes = 3072;

/// Elements from one that is read to the one to ask for: whole rows, one at least.
inline int64_t ahead_of(const Tensor& x) {
  const int64_t row_bytes = x.row_size() * int64_t(size_of(x.dtype()));
  return std::max<int64_t>(1, kAheadBytes / std::max<int64_t>(1, row_bytes)) * x.row_stride();
}

// Note [Streamed results]: a result that is larger than the caches of a core goes to memory past them.
// Written in the usual way each of its lines would first be read.
inline constexpr int64_t kStreamBytes = int64_t(4) << 20;

/// Whether every row begins with a line of memory, as streaming needs it.
inline bool lies_on_lines(const Tensor& y) {
  return reinterpret_cast<uintptr_t>(y.raw()) % 64 == 0 &&
         (y.dims() == 1 || y.row_stride() * int64_t(size_of(y.dtype())) % 64 == 0);
}

/// Calls run.operator()<whether `y` is streamed>(); `in_place`: an operand lies there, so that its lines are
/// at hand.
template <class Run>
void with_streaming(const Tensor& y, bool in_place, const Run& run) {
  if (!in_place && lies_on_lines(y) && y.bytes() >= kStreamBytes) run.template operator()<true>();
  else run.template operator()<false>();
}

}  // namespace zoetrope::cpu
