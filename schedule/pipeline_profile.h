// Sizes of the micro-batches of one pipeline on paper: how a given work is best cut and ordered under 1F1B.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/pipeline.h"

namespace zoetrope {

/// The whole work of a profile.
constexpr int64_t kProfileWork = int64_t(1) << 32;

struct PipelineProfile {
  std::vector<int64_t> sizes;  ///< by wave, together about kProfileWork; 0: no micro-batch
  /// Time of one stage's work, kProfileWork, over the makespan; 2^20 for 1.
  int64_t efficiency = 0;
};

/// Sizes of at most `num_waves` micro-batches with the least makespan found. One of them is at least
/// `largest` (a sample that can't be smaller), the others at most `cap`. Note [Ramps] in
/// pipeline_profile.cpp.
PipelineProfile pipeline_profile(const PipelineShape& shape, int64_t num_waves, int64_t largest, int64_t cap);

}  // namespace zoetrope
