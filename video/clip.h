// A decoded clip: RGB frames at one constant rate, with where each frame came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Where an output frame came from.
struct FrameSource {
  double source_seconds = 0;  ///< presentation timestamp in the file
  double output_seconds = 0;  ///< its time on the constant-rate grid
  int64_t source_index = 0;   ///< presentation index in the file
};

/// Shapes: pixels [T, H, W, 3] u8 RGB, row-major.
struct Clip {
  std::string name;
  int64_t num_frames = 0, height = 0, width = 0;
  double fps = 0;
  std::vector<uint8_t> pixels;
  std::vector<FrameSource> sources;
  const uint8_t* frame(int64_t t) const { return pixels.data() + t * height * width * 3; }
  uint8_t* frame(int64_t t) { return pixels.data() + t * height * width * 3; }
};

}  // namespace zoetrope
