// What a micro-batch's layout becomes as tensors: timestep features, rotary angles from global token
// positions, segment numbers.
#pragma once

#include <vector>

#include "core/batch.h"

namespace zoetrope {

/// Sinusoids of each segment's timestep: cos of t 10000^(-i / half), then sin.
/// Shapes: features [S, frequency_width] wide; timesteps [S] in [0, 1000].
void fill_timestep_features(const Tensor& features, const std::vector<double>& timesteps);

/// (cos, sin) of every pair of a head's columns; the position is the token's place (time, height, width) in
/// its sample's own grid, whatever range of the sample is here. Shapes: rotation [T, K] wide. Source: notes
/// on Wan in docs: K splits into t = K - 2 w, h = w = 2 floor(K / 6).
void fill_rotation(const Tensor& rotation, const MicroBatch& batch);

/// Number of the segment that each row belongs to. Shapes: segment [T] i32.
void fill_segment_ids(const Tensor& segment, const MicroBatch& batch);

}  // namespace zoetrope
