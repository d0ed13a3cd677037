#include "model/ops/cpu/panels.h"

#include <cstring>
#include <type_traits>

#include "model/ops/cpu/packing.h"
#include "model/ops/cpu/simd.h"

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

}  // namespace

template <Side kSide, class T>
void pack_panel(bf16* to, const Panels& shape, int64_t panel, const T* from, int64_t from_row, int64_t rows) {
  for (int64_t row = 0; row < kPanel; ++row)  // a source row at a time, since memory is quick in order only
    for (int64_t block = 0; block < shape.blocks(); ++block) {
      bf16* line = to + shape.at(block, panel) + row * kStepTerms;
      for (int64_t step = shape.block_begin(block); step < shape.block_begin(block + 1);
           ++step, line += kStepElements) {
        const int64_t left = row < rows ? shape.terms - step * kStepTerms : 0;
        const T* source = from + row * from_row + step * kStepTerms;
        __builtin_prefetch(source + kRowsAhead * from_row);
        if constexpr (std::is_same_v<T, bf16>) {
          if (left >= kStepTerms) {
            std::memcpy(static_cast<void*>(line), source, kStepTerms * sizeof(bf16));
            continue;
          }
        }
        const simd::H16 halves[2] = {bits(source, left), bits(source + kHalf, left - kHalf)};
        std::memcpy(static_cast<void*>(line), halves, sizeof halves);
      }
    }
  if constexpr (kSide == Side::kRight)
    for (int64_t block = 0; block < shape.blocks(); ++block)
      for (int64_t tile = 0; tile < 2 * shape.block_steps(block); ++tile)
        exchange(to + shape.at(block, panel) + tile * kTile);
}

template <Side kSide, class T>
void pack_step(bf16* to, const Panels& shape, int64_t step, const T* from, int64_t from_row, int64_t rows) {
  const int64_t block = block_of(shape, step), inside = step - shape.block_begin(block);
  for (int64_t panel = 0; panel < shape.panels(); ++panel) {
    for (int64_t row = 0; row < rows; ++row)
      __builtin_prefetch(from + row * from_row + (panel + kPanelsAhead) * kPanel);
    bf16* tile = to + shape.at(block, panel) + inside * kStepElements;
    for (int64_t half = 0; half < 2; ++half, tile += kTile) {
      const int64_t column = panel * kPanel + half * kHalf;
      pair_tile(tile, from + column, from_row, rows, shape.outer - column);
      if constexpr (kSide == Side::kLeft) exchange(tile);
    }
  }
}

template void pack_panel<Side::kLeft, bf16>(bf16*, const Panels&, int64_t, const bf16*, int64_t, int64_t);
template void pack_panel<Side::kRight, float>(bf16*, const Panels&, int64_t, const float*, int64_t, int64_t);
template void pack_step<Side::kLeft, bf16>(bf16*, const Panels&, int64_t, const bf16*, int64_t, int64_t);
template void pack_step<Side::kRight, bf16>(bf16*, const Panels&, int64_t, const bf16*, int64_t, int64_t);
template void pack_step<Side::kRight, float>(bf16*, const Panels&, int64_t, const float*, int64_t, int64_t);

}  // namespace zoetrope::cpu
