// bf16 operands cut into tiles of one kilobyte in the order in which the product's inner loop reads them:
// every load is then aligned, dense and of a full tile, whatever the operand's strides and sizes. Rests are
// padded with zeros.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "model/ops/cpu/tiles.h"

namespace zoetrope::cpu {

inline constexpr int64_t kStepTerms = 32;  ///< terms of each sum per step
inline constexpr int64_t kStepElements = kPanel * kStepTerms;
/// Steps per block at most: a left and a right panel of a block, 24 KiB each, fit the first-level cache.
inline constexpr int64_t kBlockSteps = 8;

constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/// An operand with `outer` rows (or columns) and sums over `terms`. Order in memory: blocks of steps, panels,
/// steps, two tiles; a tile is [16 rows][32 terms] on the left, [16 pairs of terms][16 columns][2] on the
/// right.
struct Panels {
  int64_t outer = 0, terms = 0;

  int64_t panels() const { return divide_up(outer, kPanel); }
  int64_t steps() const { return divide_up(terms, kStepTerms); }
  int64_t blocks() const { return divide_up(steps(), kBlockSteps); }
  int64_t block_begin(int64_t block) const { return steps() * block / blocks(); }
  int64_t block_steps(int64_t block) const { return block_begin(block + 1) - block_begin(block); }
  int64_t elements() const { return panels() * steps() * kStepElements; }
  /// Where a panel of a block begins, in elements.
  int64_t at(int64_t block, int64_t panel) const {
    return (block_begin(block) * panels() + panel * block_steps(block)) * kStepElements;
  }
};

enum class Side { kLeft, kRight };

/// Packs one strip of 32 source rows, of which `rows` exist; f32 is rounded.
/// The source's rows are the operand's outer index: the strip is one right panel, all its steps.
void pack_right_panel(bf16* to, const Panels& shape, int64_t panel, const float* from, int64_t from_row,
                      int64_t rows);
/// The same for `steps` steps of a left panel, of which `terms` terms exist.
void pack_left_block(bf16* to, int64_t steps, const bf16* from, int64_t from_row, int64_t rows,
                     int64_t terms);
/// The source's rows are the terms: the strip is one step of all panels. `sums`, when given, gets the sums
/// over the rows, one per column.
template <Side kSide, class T>
void pack_step(bf16* to, const Panels& shape, int64_t step, const T* from, int64_t from_row, int64_t rows,
               float* sums = nullptr);

}  // namespace zoetrope::cpu
