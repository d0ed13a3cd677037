// Sixteen samples of a plane at a time, in vectors of video/pixels/lanes.h. Used by video/pixels/band alone.
#pragma once

#include <algorithm>
#include <cstring>

#include "video/pixels/plane.h"

namespace zoetrope::pixels {

constexpr int kStripColumns = 16;

/// Sixteen samples of a row from column x on, which are not all within it; past the end the last one repeats.
template <class Lanes>
inline typename Lanes::Narrow load_last_samples(const Plane& plane, const uint8_t* row, int64_t x) {
  int16_t samples[kStripColumns];
  for (int64_t i = 0; i < kStripColumns; ++i) {
    const int64_t at = std::min(x + i, plane.width - 1);
    uint16_t value = row[at];
    if (plane.wide) std::memcpy(&value, row + 2 * at, 2);
    samples[i] = int16_t(value >> plane.shift);
  }
  return Lanes::load(samples);
}

}  // namespace zoetrope::pixels
