// Products of packed panels: the inner loop of the linear layers in bf16, by AMX tiles.
#pragma once

#include "model/ops/cpu/panels.h"
#include "model/ops/cpu/tiles.h"

namespace zoetrope::cpu {

inline constexpr int64_t kSquare = kPanel * kPanel;  ///< sums of a left panel against a right one

/// Memory that a later product reads: every step asks for the next line of each of `runs` runs of lines that
/// lie `stride` bytes apart, to have them in the second-level cache when they are needed.
struct Ahead {
  const char* at = nullptr;
  int64_t stride = 0, runs = 0;
};

/// The left panel of a product: where it begins and how many bytes it is to the next row, to its lower half
/// and to the next step. The constants are those of a packed one; rows of a matrix can be read in place.
struct LeftPanel {
  const bf16* data = nullptr;
  int64_t row_bytes = 64, half_bytes = kTileBytes, step_bytes = 2 * kTileBytes;
};

/// sums = or += left right over `steps` steps of one panel each. Sums are four tiles of 16 x 16: upper left,
/// upper right, lower left, lower right. The calling thread holds a `TileScope`.
/// Throws: Error in a build without tiles.
void panel_product(float* sums, const LeftPanel& left, const bf16* right, int64_t steps, bool accumulate,
                   const Ahead& left_ahead = {}, const Ahead& right_ahead = {});

}  // namespace zoetrope::cpu
