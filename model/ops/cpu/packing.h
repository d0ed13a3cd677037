// Copies of attention's operands in the layouts that `block_product` reads. E is the element type of the
// product: float, or bf16 with pairs of rows side by side.
#pragma once

#include <algorithm>
#include <type_traits>

#include "model/ops/cpu/block_product.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope::cpu {

/// Element type of block products on tensors of type C.
template <class C>
using BlockElement = std::conditional_t<std::is_same_v<C, bf16> && ZT_BF16_BLOCKS, bf16, float>;

constexpr int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
/// Rows or columns that a block product of E needs for `n`: bf16 reduces 32 at a time.
template <class E>
constexpr int64_t padded_extent(int64_t n) {
  return round_up(n, std::is_same_v<E, bf16> ? 32 : 16);
}

/// to [padded_rows, padded_columns] = from [rows, columns], zeros around.
template <class E, class C>
void pack_rows(E* to, int64_t padded_rows, int64_t padded_columns, const C* from, int64_t from_row,
               int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    E* line = to + r * padded_columns;
    if constexpr (std::is_same_v<E, C>) {
      std::memcpy(static_cast<void*>(line), from + r * from_row, size_t(columns) * sizeof(E));
    } else {
      simd::for_lanes(columns, [&](int64_t i, int64_t n) {
        simd::store(line + i, simd::load(from + r * from_row + i, n), n);
      });
    }
    std::memset(static_cast<void*>(line + columns), 0, size_t(padded_columns - columns) * sizeof(E));
  }
  std::memset(static_cast<void*>(to + rows * padded_columns), 0,
              size_t((padded_rows - rows) * padded_columns) * sizeof(E));
}

/// to [columns, rows] = from [rows, columns] of 32-bit words, in 16 x 16 blocks; both multiples of 16.
void transpose_words(uint32_t* to, int64_t to_row, const uint32_t* from, int64_t from_row, int64_t rows,
                     int64_t columns);

/// Rows 2r and 2r + 1 of `from` side by side: to[r][c] = (from[2r][c], from[2r + 1][c]). Columns are a
/// multiple of 16.
void pair_rows(bf16* to, const bf16* from, int64_t rows, int64_t columns);
/// The same from f32, rounding.
inline void pair_two_rows(bf16* to, simd::F16 even, simd::F16 odd) {
  const auto rounded = [](simd::F16 v) {
    const simd::U16 u = std::bit_cast<simd::U16>(v);
    // A NaN here descends from bf16 operands, so its low half is zero and the sum can't carry it over.
    return u + 0x7fffu + ((u >> 16) & 1u);
  };
  const simd::U16 pairs = (rounded(even) >> 16) | (rounded(odd) & 0xffff0000u);
  std::memcpy(static_cast<void*>(to), &pairs, sizeof pairs);
}

/// As the right operand of a product over the columns of `rows`: [columns, n] for float, pairs for bf16.
/// `rows` is packed, [n, columns], n a multiple of 16.
inline void pack_transposed(float* to, const float* rows, int64_t n, int64_t columns) {
  transpose_words(reinterpret_cast<uint32_t*>(to), n, reinterpret_cast<const uint32_t*>(rows), columns, n,
                  columns);
}
inline void pack_transposed(bf16* to, const bf16* rows, int64_t n, int64_t columns) {
  transpose_words(reinterpret_cast<uint32_t*>(to), n, reinterpret_cast<const uint32_t*>(rows), columns / 2, n,
                  columns / 2);
}
/// As the left operand of a product over the rows of `rows`: plain transpose, [columns, n].
inline void transpose(float* to, const float* rows, int64_t n, int64_t columns, float*) {
  pack_transposed(to, rows, n, columns);
}
inline void transpose(bf16* to, const bf16* rows, int64_t n, int64_t columns, bf16* pairs) {
  pair_rows(pairs, rows, n, columns);
  transpose_words(reinterpret_cast<uint32_t*>(to), n / 2, reinterpret_cast<const uint32_t*>(pairs), columns,
                  n / 2, columns);
}

}  // namespace zoetrope::cpu
