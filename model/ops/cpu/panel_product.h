// Products of packed panels: the inner loop of the linear layers in bf16, by AMX tiles.
#pragma once

#include "model/ops/cpu/panels.h"
#include "model/ops/cpu/tiles.h"

namespace zoetrope::cpu {

inline constexpr int64_t kSquare = kPanel * kPanel;  ///< sums of a left panel against a right one

/// sums = or += left right over `steps` steps of one panel each. Sums are four tiles of 16 x 16: upper left,
/// upper right, lower left, lower right. Every step asks for `ahead_lines` lines of memory from `ahead` on,
/// to have them in the second-level cache when they are needed. The calling thread holds a `TileScope`.
/// Throws: Error in a build without tiles.
void panel_product(float* sums, const bf16* left, const bf16* right, int64_t steps, bool accumulate,
                   const char* ahead = nullptr, int64_t ahead_lines = 0);

}  // namespace zoetrope::cpu
