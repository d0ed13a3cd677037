#include "model/ops/cpu/panels.h"

#include <cstring>
#include <type_traits>

#include "model/ops/cpu/packing.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/cpu/tile_lines.h"

namespace zoetrope::cpu {
namespace {

constexpr int64_t kTile = kStepElements / 2;         // elements of a tile
constexpr int64_t kHalf = 16;                        // rows of a tile
constexpr int64_t kRowsAhead = 8, kPanelsAhead = 4;  // how far ahead of its use the source is asked for

/// Sixteen elements as bits of bf16; a rest is filled up with zeros.
simd::H16 bits(const bf16* from, int64_t count) {
  simd::H16 h{};
  if (count >= kHalf) std::memcpy(&h, from, sizeof h);
  else if (count > 0) std::memcpy(&h, from, size_t(count) * sizeof(bf16));
  return h;
}
simd::H16 bits(const float* from, int64_t count) {
  bf16 rounded[kHalf] = {};
  if (count > 0) simd::store(rounded, simd::load(from, count));
  return bits(rounded, kHalf);
}

/// [16 pairs of rows][16 columns][2].
template <class T>
void pair_tile(bf16* to, const T* from, int64_t from_row, int64_t rows, int64_t columns) {
  const bool whole = rows >= kStepTerms && columns >= kHalf;
  for (int64_t r = 0; r < kStepTerms; r += 2) {
    const simd::H16 even = bits(from + r * from_row, whole ? kHalf : r < rows ? columns : 0);
    const simd::H16 odd = bits(from + (r + 1) * from_row, whole ? kHalf : r + 1 < rows ? columns : 0);
    const simd::U16 pairs =
        __builtin_convertvector(even, simd::U16) | (__builtin_convertvector(odd, simd::U16) << 16);
    std::memcpy(static_cast<void*>(to + r * kHalf), &pairs, sizeof pairs);
  }
}

/// The sum of all pairs of a tile's rows, for every column.
simd::F16 sum_pairs(const bf16* tile) {
  simd::F16 even{}, odd{};
  for (int64_t pair = 0; pair < kHalf; ++pair) {
    simd::U16 both;
    std::memcpy(&both, tile + pair * kStepTerms, sizeof both);
    even += std::bit_cast<simd::F16>(both << 16);
    odd += std::bit_cast<simd::F16>(both & 0xffff0000u);
  }
  return even + odd;
}

/// The left operand's tile is the right one's with rows and columns of pairs exchanged.
void exchange(bf16* tile) {
  auto* words = reinterpret_cast<uint32_t*>(tile);
  transpose_words(words, kHalf, words, kHalf, kHalf, kHalf);
}

/// The block that a step is in.
int64_t block_of(const Panels& shape, int64_t step) {
  int64_t block = 0;
  while (shape.block_begin(block + 1) <= step) ++block;
  return block;
}

#if ZT_TILES
/// Both tiles of a step of 32 rows and 32 columns, all there.
template <Side kSide>
void pack_whole_step(bf16* to, const bf16* from, int64_t from_row, float* sums) {
  static const PairOrder order;
  const __m512i low = order.low, high = order.high;
  __m512i first[16], second[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const __m512i even = _mm512_loadu_si512(from + 2 * i * from_row),
                  odd = _mm512_loadu_si512(from + (2 * i + 1) * from_row);
    first[i] = _mm512_permutex2var_epi16(even, low, odd);
    second[i] = _mm512_permutex2var_epi16(even, high, odd);
  }
  const auto finish = [&](bf16* tile, __m512i(&line)[16], float* column_sums) {
    if (column_sums) {
      const __m512bh ones = std::bit_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
      __m512 even = _mm512_setzero_ps(), odd = even;
#pragma GCC unroll 8
      for (int i = 0; i < 16; i += 2) {
        even = _mm512_dpbf16_ps(even, std::bit_cast<__m512bh>(line[i]), ones);
        odd = _mm512_dpbf16_ps(odd, std::bit_cast<__m512bh>(line[i + 1]), ones);
      }
      _mm512_storeu_ps(column_sums, _mm512_add_ps(even, odd));
    }
    if constexpr (kSide == Side::kLeft) transpose_lines(line);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm512_store_si512(tile + i * kStepTerms, line[i]);
  };
  finish(to, first, sums);
  finish(to + kTile, second, sums ? sums + kHalf : nullptr);
}
#endif

}  // namespace

void pack_right_panel(bf16* to, const Panels& shape, int64_t panel, const float* from, int64_t from_row,
                      int64_t rows) {
  for (int64_t row = 0; row < kPanel; ++row)  // a source row at a time, since memory is quick in order only
    for (int64_t block = 0; block < shape.blocks(); ++block) {
      bf16* line = to + shape.at(block, panel) + row * kStepTerms;
      for (int64_t step = shape.block_begin(block); step < shape.block_begin(block + 1);
           ++step, line += kStepElements) {
        const int64_t left = row < rows ? shape.terms - step * kStepTerms : 0;
        const float* source = from + row * from_row + step * kStepTerms;
        __builtin_prefetch(source + kRowsAhead * from_row);
        const simd::H16 halves[2] = {bits(source, left), bits(source + kHalf, left - kHalf)};
        std::memcpy(static_cast<void*>(line), halves, sizeof halves);
      }
    }
  for (int64_t block = 0; block < shape.blocks(); ++block)
    for (int64_t tile = 0; tile < 2 * shape.block_steps(block); ++tile)
      exchange(to + shape.at(block, panel) + tile * kTile);
}

void pack_left_block(bf16* to, int64_t steps, const bf16* from, int64_t from_row, int64_t rows,
                     int64_t terms) {
  for (int64_t row = 0; row < kPanel; ++row, from += from_row, to += kStepTerms)
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t left = row < rows ? std::clamp<int64_t>(terms - step * kStepTerms, 0, kStepTerms) : 0;
      void* line = to + step * kStepElements;
      if (left == kStepTerms) {
        std::memcpy(line, from + step * kStepTerms, kStepTerms * sizeof(bf16));
        continue;
      }
      std::memset(line, 0, kStepTerms * sizeof(bf16));
      if (left > 0) std::memcpy(line, from + step * kStepTerms, size_t(left) * sizeof(bf16));
    }
}

template <Side kSide, class T>
void pack_step(bf16* to, const Panels& shape, int64_t step, const T* from, int64_t from_row, int64_t rows,
               float* sums) {
  const int64_t block = block_of(shape, step), inside = step - shape.block_begin(block);
  for (int64_t panel = 0; panel < shape.panels(); ++panel) {
    for (int64_t row = 0; row < rows && panel + kPanelsAhead < shape.panels(); ++row)
      __builtin_prefetch(from + row * from_row + (panel + kPanelsAhead) * kPanel);
    bf16* tile = to + shape.at(block, panel) + inside * kStepElements;
#if ZT_TILES
    if constexpr (std::is_same_v<T, bf16>) {
      if (rows >= kStepTerms && (panel + 1) * kPanel <= shape.outer) {
        pack_whole_step<kSide>(tile, from + panel * kPanel, from_row, sums ? sums + panel * kPanel : nullptr);
        continue;
      }
    }
#endif
    for (int64_t half = 0; half < 2; ++half, tile += kTile) {
      const int64_t column = panel * kPanel + half * kHalf, columns = shape.outer - column;
      pair_tile(tile, from + column, from_row, rows, columns);
      if (sums && columns > 0) simd::store(sums + column, sum_pairs(tile), columns);
      if constexpr (kSide == Side::kLeft) exchange(tile);
    }
  }
}

template void pack_step<Side::kLeft, bf16>(bf16*, const Panels&, int64_t, const bf16*, int64_t, int64_t,
                                           float*);
template void pack_step<Side::kRight, bf16>(bf16*, const Panels&, int64_t, const bf16*, int64_t, int64_t,
                                            float*);
template void pack_step<Side::kRight, float>(bf16*, const Panels&, int64_t, const float*, int64_t, int64_t,
                                             float*);

}  // namespace zoetrope::cpu
