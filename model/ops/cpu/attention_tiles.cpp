#include "model/ops/cpu/attention_tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {
namespace {

/// Stores register kRegister's old result, if any, and loads or clears it for the next.
template <int kRegister>
inline __attribute__((always_inline)) void renew(float* waiting, const float* next, bool accumulate) {
  if (waiting) store_tile<kRegister>(waiting + kRegister * kTileFloats);
  if (accumulate) load_tile<kRegister>(next + kRegister * kTileFloats);
  else clear_tile<kRegister>();
}

}  // namespace

void PanelProducts::multiply(const PanelProduct& product) {
  asm volatile("" ::: "memory");  // below, nothing says that memory is read and written
  const bf16 *left = product.left, *right = product.right;
  const int64_t left_step = product.left_step * kPanelHalves, right_step = product.right_step * kPanelHalves;
  load_tile<4>(left);
  load_tile<6>(right);
  renew<0>(waiting_, product.result, product.accumulate);
  multiply_add<0, 4, 6>();
  load_tile<7>(right + kTileHalves);
  renew<1>(waiting_, product.result, product.accumulate);
  multiply_add<1, 4, 7>();
  load_tile<5>(left + kTileHalves);
  renew<2>(waiting_, product.result, product.accumulate);
  multiply_add<2, 5, 6>();
  renew<3>(waiting_, product.result, product.accumulate);
  multiply_add<3, 5, 7>();
  for (int64_t d = 1; d < product.depth; ++d) {
    left += left_step, right += right_step;
    load_tile<4>(left);
    load_tile<6>(right);
    multiply_add<0, 4, 6>();
    load_tile<7>(right + kTileHalves);
    multiply_add<1, 4, 7>();
    load_tile<5>(left + kTileHalves);
    multiply_add<2, 5, 6>();
    multiply_add<3, 5, 7>();
  }
  waiting_ = product.result;
  asm volatile("" ::: "memory");
}

void PanelProducts::flush() {
  if (!waiting_) return;
  asm volatile("" ::: "memory");
  store_tile<0>(waiting_);
  store_tile<1>(waiting_ + kTileFloats);
  store_tile<2>(waiting_ + 2 * kTileFloats);
  store_tile<3>(waiting_ + 3 * kTileFloats);
  waiting_ = nullptr;
  asm volatile("" ::: "memory");
}

void transpose_lines(__m512i (&line)[16]) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(line[i], line[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(line[i], line[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      b[i + 2 * j] = _mm512_unpacklo_epi64(a[i + j], a[i + j + 2]);
      b[i + 2 * j + 1] = _mm512_unpackhi_epi64(a[i + j], a[i + j + 2]);
    }
  // Quarter l of b[4 i + c] is column 4 l + c of rows 4 i ... 4 i + 3.
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

namespace {

void store_lines(bf16* to, const __m512i (&line)[16]) {
  for (int i = 0; i < 16; ++i) _mm512_store_si512(to + i * kTileDepth, line[i]);
}

/// Two right tiles side by side, of rows [row, row + 32) and columns [column, column + 32).
void load_pairs(__m512i (&first)[16], __m512i (&second)[16], const HeadRows& from, int64_t row,
                int64_t column, Pairs pairs = Pairs::kNeighbours) {
  const int64_t step = pairs == Pairs::kNeighbours ? 2 : 1, other = pairs == Pairs::kNeighbours ? 1 : 16;
  alignas(64) uint16_t low[32], high[32];
  for (int i = 0; i < 32; ++i) low[i] = uint16_t(i / 2 + i % 2 * 32), high[i] = uint16_t(low[i] + 16);
  const __m512i low_order = _mm512_load_si512(low), high_order = _mm512_load_si512(high);
  for (int i = 0; i < 16; ++i) {
    const __m512i even = from.load(row + step * i, column), odd = from.load(row + step * i + other, column);
    first[i] = _mm512_permutex2var_epi16(even, low_order, odd);
    second[i] = _mm512_permutex2var_epi16(even, high_order, odd);
  }
}

}  // namespace

void pack_left(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel, to += kPanelHalves)
      for (int64_t i = 0; i < kPanel; ++i) _mm512_store_si512(to + i * kTileDepth, from.load(r + i, c));
}

void pack_right(bf16* to, const HeadRows& from, int64_t rows, int64_t width, Pairs pairs) {
  __m512i first[16], second[16];
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel, to += kPanelHalves) {
      load_pairs(first, second, from, r, c, pairs);
      store_lines(to, first);
      store_lines(to + kTileHalves, second);
    }
}

void pack_left_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  __m512i first[16], second[16];
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel) {
      load_pairs(first, second, from, r, c);
      transpose_lines(first);
      transpose_lines(second);
      bf16* panel = to + (c / kPanel * (rows / kPanel) + r / kPanel) * kPanelHalves;
      store_lines(panel, first);
      store_lines(panel + kTileHalves, second);
    }
}

void pack_right_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  __m512i line[16];
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel)
      for (int64_t half = 0; half < 2; ++half, to += kTileHalves) {
        for (int64_t i = 0; i < kTile; ++i) line[i] = from.load(r + half * kTile + i, c);
        transpose_lines(line);
        store_lines(to, line);
      }
}

}  // namespace zoetrope::cpu
#endif
