// What all attention kernels share on the device: which rows a block owns, and the writing or merging of a
// row of output.
#pragma once

#include "core/dtype.h"
#include "model/ops/cuda/attention.h"

namespace zoetrope::cuda {

inline constexpr float kInfinity = INFINITY;
inline constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

/// A block's share: `count` rows from `begin` on the side that tiles are cut from, all `other_count` rows
/// from `other_begin` on the other side.
struct Share {
  int begin, count, other_begin, other_count;
};

/// The share of block `tile`. Cost: a binary search in at most 64 numbers, the same in all threads.
__device__ inline Share share_of(const ItemTiles& tiles, TilesOver over, int tile, int tile_rows) {
  int low = 0, high = tiles.count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (tiles.first_tile[middle] <= tile) low = middle;
    else high = middle - 1;
  }
  const ItemTiles::Item& item = tiles.items[low];
  const bool queries = over == TilesOver::kQueries;
  const int begin = queries ? item.q_begin : item.kv_begin, count = queries ? item.q_count : item.kv_count;
  const int first = (tile - tiles.first_tile[low]) * tile_rows;
  return {begin + first, min(tile_rows, count - first), queries ? item.kv_begin : item.q_begin,
          queries ? item.kv_count : item.q_count};
}

/// Where row `row` of a matrix starts, and `column` elements on.
template <class T>
__device__ inline T* head_row(const Operand& rows, int64_t row, int64_t column) {
  return static_cast<T*>(rows.data) + row * rows.stride + column;
}

/// Weights of what is there and of what is added, and the log-sum-exp of both.
struct Merge {
  float keep, take, lse;
};
/// Softmax over two sets of keys together from their separate results. `added` is not -inf.
/// Source: Note [CP softmax merge].
__device__ inline Merge merge(float old_lse, float added) {
  const float top = fmaxf(old_lse, added), old_weight = expf(old_lse - top), new_weight = expf(added - top);
  const float total = old_weight + new_weight;
  return {old_weight / total, new_weight / total, top + logf(total)};
}

/// Log-sum-exp in base 2 as the backward kernels need it: a row that met no key (-inf), like an absent one,
/// gets +inf and with it probability 0.
__device__ inline float lse_base2(float lse) { return lse == -kInfinity ? kInfinity : lse * kLog2e; }

}  // namespace zoetrope::cuda
