// Attention on bf16 by AMX tiles: what its forward and its backward share. A tile is 16 rows of 64 bytes; all
// operands lie tile by tile, so that one is sixteen lines of cache in a row:
//   left     [16 rows, 32 columns] bf16
//   right    [16 pairs of rows, 16 columns, 2] bf16: 32 rows and 16 columns
//   result   [16 rows, 16 columns] f32
// Operands and results consist of panels of 32 rows and 32 columns: two left tiles below each other, two
// right tiles side by side, four tiles of a result row by row.
#pragma once

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {

inline constexpr int64_t kTile = 16;       // rows of every tile, columns of a right or a result tile
inline constexpr int64_t kTileDepth = 32;  // columns of a left tile, rows of a right one

// The intrinsics want literal register numbers, these take constant expressions.
template <int kRegister>
inline void load_tile(const void* from) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(int64_t(64)), "i"(kRegister));
}
template <int kRegister>
inline void store_tile(void* to) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(int64_t(64)), "i"(kRegister));
}
template <int kRegister>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kRegister));
}
/// kSum += kLeft kRight.
template <int kSum, int kLeft, int kRight>
inline void multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
}

inline constexpr int64_t kPanel = 32;                     // rows and columns of two tiles of bf16
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
  void multiply(const PanelProduct& product);
  /// Stores the last result. Every result is in memory after this or after the next product.
  void flush();

 private:
  float* waiting_ = nullptr;
};

/// Half a panel of a result, [16, 32] = left [16, 32 depth] right [32 depth, 32], in the registers kFirst and
/// kFirst + 1 and in pieces, which fit between the instructions of other work: tiles and vectors run side by
/// side only where they take turns every few dozen instructions.
template <int kFirst>
struct HalfProduct {
  static constexpr int kLeft = 4 + kFirst / 2;
  const bf16 *left = nullptr, *right = nullptr;  // one tile of a panel; panels; no product where null
  int64_t depth = 0;

  /// The pieces of a product, in order: one multiplication each, where the depth is 2.
  void start() const {
    if (!left) return;
    asm volatile("" ::: "memory");
    load_tile<kLeft>(left);
    load_tile<6>(right);
    clear_tile<kFirst>();
    multiply_add<kFirst, kLeft, 6>();
  }
  void start_second() const {
    if (!left) return;
    load_tile<7>(right + kTileHalves);
    clear_tile<kFirst + 1>();
    multiply_add<kFirst + 1, kLeft, 7>();
    asm volatile("" ::: "memory");
  }
  void go_on() const {
    if (!left || depth < 2) return;
    asm volatile("" ::: "memory");
    load_tile<kLeft>(left + kPanelHalves);
    load_tile<6>(right + kPanelHalves);
    multiply_add<kFirst, kLeft, 6>();
  }
  void finish() const {
    if (!left || depth < 2) return;
    load_tile<7>(right + kPanelHalves + kTileHalves);
    multiply_add<kFirst + 1, kLeft, 7>();
    for (int64_t d = 2; d < depth; ++d) {
      load_tile<kLeft>(left + d * kPanelHalves);
      load_tile<6>(right + d * kPanelHalves);
      multiply_add<kFirst, kLeft, 6>();
      load_tile<7>(right + d * kPanelHalves + kTileHalves);
      multiply_add<kFirst + 1, kLeft, 7>();
    }
    asm volatile("" ::: "memory");
  }
  void all() const { start(), start_second(), go_on(), finish(); }
  static void store(float* to) {
    asm volatile("" ::: "memory");
    store_tile<kFirst>(to);
    store_tile<kFirst + 1>(to + kTileFloats);
    asm volatile("" ::: "memory");
  }
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

/// Swaps rows and columns of 16 x 16 words.
void transpose_lines(__m512i (&line)[16]);

/// Lane r is the sum (maximum) over the lanes of row r.
template <class Combine>
inline __attribute__((always_inline)) __m512 combine_lanes(const __m512 (&row)[16], Combine&& combine) {
  __m512 pair[8], four[4], half[2];
  for (int i = 0; i < 8; ++i)
    pair[i] = combine(_mm512_unpacklo_ps(row[2 * i], row[2 * i + 1]),
                      _mm512_unpackhi_ps(row[2 * i], row[2 * i + 1]));
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(pair[2 * i]), b = _mm512_castps_pd(pair[2 * i + 1]);
    four[i] = combine(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  const auto halve = [&](__m512 a, __m512 b) {
    return combine(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  };
  for (int i = 0; i < 2; ++i) half[i] = halve(four[2 * i], four[2 * i + 1]);
  return halve(half[0], half[1]);
}

/// The lanes of 32 columns of which `count` exist: of the first and of the second sixteen.
struct Lanes {
  __mmask16 first = 0xffff, second = 0xffff;
};
/// Masks of the first `count` of 32 columns.
inline Lanes first_lanes(int64_t count) {
  const uint32_t bits = count >= 32 ? ~uint32_t(0) : (uint32_t(1) << count) - 1;
  return {__mmask16(bits & 0xffff), __mmask16(bits >> 16)};
}

/// The nearest bf16 in the upper half of each lane, ties away from zero; the lower half is rubbish.
inline __m512i round_upper(__m512 x) {
  return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
}
/// Pairs of bf16: the lower halves of lanes from the upper halves of `low`, the upper ones from those of
/// `high`. With round_upper this costs less than the instruction that rounds to bf16, which takes both vector
/// ports twice.
inline __m512i pair_upper(__m512i low, __m512i high) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_alignr_epi8(low, low, 2), high);
}

}  // namespace zoetrope::cpu
#endif
