// What passes from schedule/ through parallel/ to model/: the tokens that one rank holds in one wave.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace zoetrope {

/// One contiguous token range of one sample on this rank. Ranges of the same sample on one rank are
/// neighbours in `MicroBatch::segments`.
struct Segment {
  int64_t sample = 0;             ///< index in the step's batch, as in the plan
  int64_t draw = 0;               ///< the sample's running number in the whole run: keys its random numbers
  int64_t begin = 0, end = 0;     ///< token range in the whole sample
  int64_t sample_tokens = 0;      ///< tokens of the whole sample
  std::array<int64_t, 3> grid{};  ///< token grid (time, height, width) of the whole sample
  int64_t row = 0;                ///< first packed row
  std::string caption;
  int64_t num_tokens() const { return end - begin; }
};

/// Packed tokens of one rank in one wave; legal with no tokens at all.
/// Shapes: tokens [T, P]: uint8 pixels of the pixel codec, or f32 latents; rows in segment order.
struct MicroBatch {
  int64_t wave = 0;
  std::vector<Segment> segments;
  Tensor tokens;
  int64_t num_tokens() const {
    return segments.empty() ? 0 : segments.back().row + segments.back().num_tokens();
  }
};

}  // namespace zoetrope
