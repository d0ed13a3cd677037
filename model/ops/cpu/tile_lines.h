// The sixteen lines of a tile in registers: how they come from rows of a matrix, and their transpose.
#pragma once

#include "model/ops/cpu/tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {

/// The order of columns that puts two rows of 16 side by side: column c of `even`, then of `odd`.
struct PairOrder {
  __m512i low, high;  ///< for columns 0 to 15, and for 16 to 31
  PairOrder() {
    alignas(64) uint16_t order[2][32];
    for (int i = 0; i < 32; ++i)
      order[0][i] = uint16_t(i / 2 + i % 2 * 32), order[1][i] = uint16_t(order[0][i] + 16);
    low = _mm512_load_si512(order[0]);
    high = _mm512_load_si512(order[1]);
  }
};

/// Swaps rows and columns of 16 x 16 words.
inline __attribute__((always_inline)) void transpose_lines(__m512i (&line)[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(line[i], line[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(line[i], line[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      b[i + 2 * j] = _mm512_unpacklo_epi64(a[i + j], a[i + j + 2]);
      b[i + 2 * j + 1] = _mm512_unpackhi_epi64(a[i + j], a[i + j + 2]);
    }
    // Quarter l of b[4 i + c] is column 4 l + c of rows 4 i ... 4 i + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even_low = _mm512_shuffle_i32x4(b[c], b[4 + c], 0x88),
                  even_high = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(b[c], b[4 + c], 0xdd),
                  odd_high = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0xdd);
    line[c] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    line[4 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    line[8 + c] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    line[12 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
}

}  // namespace zoetrope::cpu
#endif
