// Scores of attention by AMX tiles: half panels of products in pieces, and sixteen rows of them in vectors.
#pragma once

#include "model/ops/cpu/attention_tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {

/// Half a panel of a result, [16, 32] = left [16, 32 depth] right [32 depth, 32], in the registers kFirst and
/// kFirst + 1 and in pieces, which fit between the instructions of other work: tiles and vectors run side by
/// side only where they take turns every few dozen instructions.
template <int kFirst>
struct HalfProduct {
  static constexpr int kLeft = 4 + kFirst / 2;
  const bf16 *left = nullptr, *right = nullptr;  // one tile of a panel; panels; no product where null
  int64_t depth = 0;

  /// The pieces of a product, in order: one multiplication each, where the depth is 2. This is the first.
  void start() const {
    if (!left) return;
    asm volatile("" ::: "memory");
    load_tile<kLeft>(left);
    load_tile<6>(right);
    clear_tile<kFirst>();
    multiply_add<kFirst, kLeft, 6>();
  }
  /// The second piece.
  void start_second() const {
    if (!left) return;
    load_tile<7>(right + kTileHalves);
    clear_tile<kFirst + 1>();
    multiply_add<kFirst + 1, kLeft, 7>();
    asm volatile("" ::: "memory");
  }
  /// The third piece.
  void go_on() const {
    if (!left || depth < 2) return;
    asm volatile("" ::: "memory");
    load_tile<kLeft>(left + kPanelHalves);
    load_tile<6>(right + kPanelHalves);
    multiply_add<kFirst, kLeft, 6>();
  }
  /// The last piece.
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
  /// All pieces.
  void all() const { start(), start_second(), go_on(), finish(); }
  /// The result to memory, two tiles.
  static void store(float* to) {
    asm volatile("" ::: "memory");
    store_tile<kFirst>(to);
    store_tile<kFirst + 1>(to + kTileFloats);
    asm volatile("" ::: "memory");
  }
};

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
