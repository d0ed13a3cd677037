// Blocks of panel products: all sums of some left panels against some right ones, block after block of terms,
// and how they reach a matrix.
#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "model/ops/cpu/panel_product.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope::cpu {

/// `count` items in `parts` parts of almost equal size: where part `i` begins.
inline int64_t part_begin(int64_t count, int64_t parts, int64_t i) { return count * i / parts; }

inline constexpr int64_t kHalfPanel = kPanel / 2;

/// The left half of a row of a square of sums; the right one is in the next tile.
inline const float* row_of_square(const float* sums, int64_t row) {
  return sums + row / kHalfPanel * 2 * kTileFloats + row % kHalfPanel * kHalfPanel;
}

/// Asks for the lines of memory that a square is going to be written to.
template <class T>
void expect_square(const Tensor& to, int64_t row, int64_t column) {
  for (const int64_t end = std::min(to.rows(), row + kPanel); row < end; ++row)
    for (int64_t bytes = 0; bytes < kPanel * int64_t(sizeof(T)); bytes += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(to.row<T>(row) + column) + bytes, 1);
}

/// The lines of a packed operand that product `n` of `of` asks for, when all of them together ask for `count`
/// panels of `steps` steps from `at` on.
inline Ahead packed_ahead(const bf16* at, int64_t count, int64_t steps, int64_t n, int64_t of) {
  const int64_t run = steps * 64, runs = divide_up(count * kStepElements * int64_t(sizeof(bf16)) / 64, of);
  return {reinterpret_cast<const char*>(at) + n * runs * run, run, runs};
}

/// All panel products of `left` against `right` over `blocks` blocks of terms. before(block) comes first in
/// every block, left_at(block, i) and right_at(block, j) are the packed panels, ahead(block, n) is what
/// product n asks for. expect(i, j) announces a result, done(i, j, sums) delivers it one product later: by
/// then the tile registers have long been stored, and what it writes to has come into the cache.
template <class Steps, class Before, class LeftAt, class RightAt, class LeftAhead, class RightAhead,
          class Expect, class Done>
void multiply(float* sums, int64_t left_count, int64_t right_count, int64_t blocks, const Steps& steps,
              const Before& before, const LeftAt& left_at, const RightAt& right_at,
              const LeftAhead& left_ahead, const RightAhead& right_ahead, const Expect& expect,
              const Done& done) {
  const int64_t squares = left_count * right_count;
  for (int64_t block = 0; block < blocks; ++block) {
    const bool last = block + 1 == blocks;
    before(block);
    for (int64_t n = 0, i = 0, j = 0, was_i = 0, was_j = 0; n < squares; ++n) {
      if (last) expect(i, j);
      panel_product(sums + n * kSquare, left_at(block, i), right_at(block, j), steps(block), block > 0,
                    left_ahead(block, n), right_ahead(block, n));
      if (last && n > 0) done(was_i, was_j, sums + (n - 1) * kSquare);
      was_i = i, was_j = j;
      if (++j == right_count) j = 0, ++i;
    }
  }
  done(left_count - 1, right_count - 1, sums + (squares - 1) * kSquare);
}

}  // namespace zoetrope::cpu
