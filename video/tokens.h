// The pixel codec: clip <-> patch tokens, an exact inverse pair.
// With temporal patch t the first frame fills a token row of its own (repeated t times); later frames go in
// groups of t, so clips have 1 + t n frames.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/tensor.h"
#include "video/clip.h"

namespace zoetrope {

struct Patch {
  int64_t t = 4, h = 8, w = 8;
  bool operator==(const Patch&) const = default;
};

/// Token-major payload. Shapes: tokens [T, 3 pt ph pw] u8, element order (c, pt, ph, pw); T = grid product,
/// token order time, height, width (width fastest).
struct Tokens {
  std::array<int64_t, 3> grid{};
  Tensor tokens;
  int64_t num_tokens() const { return grid[0] * grid[1] * grid[2]; }
};

/// Largest frame count 1 + t n that is <= num_frames.
int64_t whole_frames(int64_t num_frames, const Patch& patch);
/// Frames shown by a grid of this many time rows.
int64_t frames_of_grid(int64_t time_rows, const Patch& patch);
std::array<int64_t, 3> grid_of(int64_t num_frames, int64_t height, int64_t width, const Patch& patch);

/// Throws: Error unless frames are 1 + t n and height, width are multiples of the patch.
Tokens tokenize(const Clip& clip, const Patch& patch);
/// The exact inverse; the copies of the first frame are averaged (identical copies return it bit for bit).
Clip untokenize(const Tokens& tokens, const Patch& patch, double fps);

}  // namespace zoetrope
