// Attention on bf16 by AMX tiles: what its forward and its backward share. A tile is 16 rows of 64 bytes; all
// operands lie tile by tile, so that one is sixteen lines of cache in a row:
//   left     [16 rows, 32 columns] bf16
//   right    [16 pairs of rows, 16 columns, 2] bf16: 32 rows and 16 columns
//   result   [16 rows, 16 columns] f32
// Operands and results consist of panels of 32 rows and 32 columns: two left tiles below each other, two
// right tiles side by side, four tiles of a result row by row.
#pragma once

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/tile_registers.h"

#if ZT_TILES
namespace zoetrope::cpu {

inline constexpr int64_t kTile = 16;       // rows of every tile, columns of a right or a result tile
inline constexpr int64_t kTileDepth = 32;  // columns of a left tile, rows of a right one

inline constexpr int64_t kPanelHalves = kPanel * kPanel;  // elements of a panel of an operand
inline constexpr int64_t kPanelFloats = kPanelHalves;     // and of one of a result, four tiles

/// One panel of a result, [32, 32] += left [32, 32 depth] right [32 depth, 32], or = unless `accumulate`.
/// `left_step` and `right_step` count panels from one to the next along the depth.
struct PanelProduct {
  float* result;
  const bf16 *left, *right;
  int64_t left_step, right_step, depth;
  bool accumulate;
};

/// Products of panels one after the other. The result of one is stored only within the next, between its
/// multiplications: stores right after their own product would wait for it and hold everything up.
class PanelProducts {
 public:
  /// Computes one more product.
  void multiply(const PanelProduct& product);
  /// Stores the last result. Every result is in memory after this or after the next product.
  void flush();

 private:
  float* waiting_ = nullptr;
};

/// One head of some rows of a bf16 matrix, with zeros behind its rows and columns.
struct HeadRows {
  const bf16* data;
  int64_t stride, rows, columns;
  /// Columns [column, column + 32) of a row.
  __m512i load(int64_t row, int64_t column) const {
    const int64_t left = columns - column;
    if (row >= rows || left <= 0) return _mm512_setzero_si512();
    const bf16* from = data + row * stride + column;
    if (left >= kTileDepth) return _mm512_loadu_si512(from);
    return _mm512_maskz_loadu_epi16((__mmask32(1) << left) - 1, from);
  }
};
/// Rows `begin` to `begin + count` of a head of K columns.
inline HeadRows head_rows(const Tensor& x, int64_t begin, int64_t count, int64_t head, int64_t K) {
  return {x.row<bf16>(begin) + head * K, x.row_stride(), count, K};
}

/// How the rows of a panel make pairs in a right operand: row 2 i with 2 i + 1, or row i with 16 + i.
enum class Pairs { kNeighbours, kHalves };
/// Copies of [rows, width], both multiples of 32, as left and as right operand: panels [rows / 32][width /
/// 32].
void pack_left(bf16* to, const HeadRows& from, int64_t rows, int64_t width);
void pack_right(bf16* to, const HeadRows& from, int64_t rows, int64_t width, Pairs pairs);
/// Copies of the transpose [width, rows] as left operand: panels [width / 32][rows / 32].
void pack_left_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width);
/// The same as right operand, one column of panels after the other: [rows / 32][width / 32].
void pack_right_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width);

}  // namespace zoetrope::cpu
#endif
