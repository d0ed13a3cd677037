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

namespace {

/// Tiles of one row of left tiles and two columns of right ones.
struct Pass {
  float* result;
  const bf16 *left, *right;
};

/// One result, or two side by side, in the registers kFirst and kFirst + 1. What they held before is stored
/// at `waiting` only now, when products of the other pair of registers are under way: a store right after its
/// own product would hold them up.
template <int kFirst, int kColumns>
inline __attribute__((always_inline)) void multiply_pair(const Pass& pass, int64_t left_right,
                                                         int64_t right_down, int64_t right_right,
                                                         int64_t depth, bool accumulate, float* waiting) {
  if (waiting) {
    store_tile<kFirst>(waiting);
    if constexpr (kColumns > 1) store_tile<kFirst + 1>(waiting + kTileFloats);
  }
  if (accumulate) {
    load_tile<kFirst>(pass.result);
    if constexpr (kColumns > 1) load_tile<kFirst + 1>(pass.result + kTileFloats);
  } else {
    clear_tile<kFirst>();
    if constexpr (kColumns > 1) clear_tile<kFirst + 1>();
  }
  const bf16 *left = pass.left, *right = pass.right;
  for (int64_t d = 0; d < depth; ++d, left += left_right, right += right_down) {
    load_tile<4 + kFirst / 2>(left);
    load_tile<6>(right);
    multiply_add<kFirst, 4 + kFirst / 2, 6>();
    if constexpr (kColumns > 1) {
      load_tile<7>(right + right_right);
      multiply_add<kFirst + 1, 4 + kFirst / 2, 7>();
    }
  }
}

/// Products in turns on the register pairs (0, 1) and (2, 3).
class Turns {
 public:
  template <int kColumns>
  void multiply(const Pass& pass, int64_t left_right, int64_t right_down, int64_t right_right, int64_t depth,
                bool accumulate) {
    if (second_)
      multiply_pair<2, kColumns>(pass, left_right, right_down, right_right, depth, accumulate, waiting_[1]);
    else
      multiply_pair<0, kColumns>(pass, left_right, right_down, right_right, depth, accumulate, waiting_[0]);
    waiting_[second_] = pass.result;
    second_ = !second_;
  }
  /// Stores what waits, of `kColumns` each.
  template <int kColumns>
  void flush() {
    if (waiting_[0]) store_tile<0>(waiting_[0]);
    if (kColumns > 1 && waiting_[0]) store_tile<1>(waiting_[0] + kTileFloats);
    if (waiting_[1]) store_tile<2>(waiting_[1]);
    if (kColumns > 1 && waiting_[1]) store_tile<3>(waiting_[1] + kTileFloats);
    waiting_[0] = waiting_[1] = nullptr;
  }

 private:
  float* waiting_[2] = {};
  bool second_ = false;
};

}  // namespace

void multiply_tiles(const ResultGrid& result, const TileGrid& left, const TileGrid& right, int64_t rows,
                    int64_t columns, int64_t depth, bool accumulate) {
  asm volatile("" ::: "memory");  // below, nothing says that memory is read and written
  const int64_t result_down = result.columns * kTileFloats, left_down = left.down * kTileHalves;
  const int64_t left_right = left.right * kTileHalves;
  const int64_t right_down = right.down * kTileHalves, right_right = right.right * kTileHalves;
  Turns turns;
  for (int64_t j = 0; j + 2 <= columns; j += 2) {
    Pass pass{result.data + j * kTileFloats, left.data, right.data + j * right_right};
    for (int64_t i = 0; i < rows; ++i, pass.result += result_down, pass.left += left_down)
      turns.multiply<2>(pass, left_right, right_down, right_right, depth, accumulate);
  }
  turns.flush<2>();
  if (columns % 2 == 1) {
    Pass pass{result.data + (columns - 1) * kTileFloats, left.data, right.data + (columns - 1) * right_right};
    for (int64_t i = 0; i < rows; ++i, pass.result += result_down, pass.left += left_down)
      turns.multiply<1>(pass, left_right, right_down, right_right, depth, accumulate);
    turns.flush<1>();
  }
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
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < width; c += kTileDepth, to += kTileHalves)
      for (int64_t i = 0; i < kTile; ++i) _mm512_store_si512(to + i * kTileDepth, from.load(r + i, c));
}

void pack_right(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  __m512i first[16], second[16];
  for (int64_t r = 0; r < rows; r += kTileDepth)
    for (int64_t c = 0; c < width; c += kTileDepth, to += 2 * kTileHalves) {
      load_pairs(first, second, from, r, c);
      store_lines(to, first);
      store_lines(to + kTileHalves, second);
    }
}

void pack_left_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  __m512i first[16], second[16];
  const int64_t down = rows / kTileDepth * kTileHalves;
  for (int64_t r = 0; r < rows; r += kTileDepth, to += kTileHalves)
    for (int64_t c = 0; c < width; c += kTileDepth) {
      load_pairs(first, second, from, r, c);
      transpose_lines(first);
      transpose_lines(second);
      store_lines(to + c / kTile * down, first);
      store_lines(to + (c / kTile + 1) * down, second);
    }
}

void pack_right_transposed(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  __m512i line[16];
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < width; c += kTileDepth, to += kTileHalves) {
      for (int64_t i = 0; i < kTile; ++i) line[i] = from.load(r + i, c);
      transpose_lines(line);
      store_lines(to, line);
    }
}

void pack_left_panels(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel, to += kPanelHalves)
      for (int64_t i = 0; i < kPanel; ++i) _mm512_store_si512(to + i * kTileDepth, from.load(r + i, c));
}

void pack_right_panels(bf16* to, const HeadRows& from, int64_t rows, int64_t width, Pairs pairs) {
  __m512i first[16], second[16];
  for (int64_t r = 0; r < rows; r += kPanel)
    for (int64_t c = 0; c < width; c += kPanel, to += kPanelHalves) {
      load_pairs(first, second, from, r, c, pairs);
      store_lines(to, first);
      store_lines(to + kTileHalves, second);
    }
}

void pack_left_transposed_panels(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
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

void pack_right_transposed_panels(bf16* to, const HeadRows& from, int64_t rows, int64_t width) {
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
