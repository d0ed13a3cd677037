// The samples of one component of a picture, as rows in memory. Used by video/pixels alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoetrope::pixels {

/// Rows of samples; a sample is at most 15 bits after `shift`, so that signed 16-bit arithmetic holds it.
struct Plane {
  const uint8_t* data = nullptr;
  ptrdiff_t line = 0;  ///< bytes from row to row; negative for pictures stored upside down
  int64_t width = 0, height = 0;
  bool wide = false;  ///< samples of two bytes, of the machine's order
  int shift = 0;      ///< wide samples are moved right by this
  int bits = 8;       ///< of a sample after the shift
  int depth = 8;      ///< bits that the format means: full scale is 2^depth - 1, times 2^(bits - depth)
  const uint8_t* row(int64_t y) const { return data + y * line; }
};

}  // namespace zoetrope::pixels
