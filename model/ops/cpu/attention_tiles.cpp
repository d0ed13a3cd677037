#include "model/ops/cpu/attention_tiles.h"

#include "model/ops/cpu/tile_lines.h"

#if ZT_TILES
namespace zoetrope::cpu {
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
  if (waiting_) store_result(waiting_);
  waiting_ = nullptr;
}

namespace {

void store_lines(bf16* to, const __m512i (&line)[16]) {
  for (int i = 0; i < 16; ++i) _mm512_store_si512(to + i * kTileDepth, line[i]);
}

/// Two right tiles side by side, of rows [row, row + 32) and columns [column, column + 32).
void load_pairs(__m512i (&first)[16], __m512i (&second)[16], const HeadRows& from, int64_t row,
                int64_t column, Pairs pairs = Pairs::kNeighbours) {
  const int64_t step = pairs == Pairs::kNeighbours ? 2 : 1, other = pairs == Pairs::kNeighbours ? 1 : 16;
  const PairOrder order;
  for (int i = 0; i < 16; ++i) {
    const __m512i even = from.load(row + step * i, column), odd = from.load(row + step * i + other, column);
    first[i] = _mm512_permutex2var_epi16(even, order.low, odd);
    second[i] = _mm512_permutex2var_epi16(even, order.high, odd);
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
