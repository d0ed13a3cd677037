#include "video/tokens.h"

#include <cstring>

#include "core/big_pages.h"
#include "core/check.h"

namespace zoetrope {
namespace {

// Shape letters: t, h, w are the patch; T token rows in time; F frames; H, W pixels.

void check_patch(const Patch& patch) {
  ZT_CHECK(patch.t >= 1 && patch.h >= 1 && patch.w >= 1, "patch ", patch.t, "x", patch.h, "x", patch.w,
           ": every side must be at least 1");
}

/// The frame that copy `copy` of time row `row` shows.
int64_t frame_of(int64_t row, int64_t copy, const Patch& patch) {
  return row == 0 ? 0 : 1 + (row - 1) * patch.t + copy;
}

/// Calls visit(token, element, frame, pixel) for every run of patch.w pixels of one channel; `element` is the
/// position in the token, `pixel` the offset of the first pixel in its frame.
template <class Visit>
void visit_runs(const std::array<int64_t, 3>& grid, const Patch& patch, int64_t width, Visit&& visit) {
  int64_t token = 0;
  for (int64_t row = 0; row < grid[0]; ++row)
    for (int64_t y = 0; y < grid[1]; ++y)
      for (int64_t x = 0; x < grid[2]; ++x, ++token)
        for (int64_t channel = 0; channel < 3; ++channel)
          for (int64_t copy = 0; copy < patch.t; ++copy)
            for (int64_t line = 0; line < patch.h; ++line)
              visit(token, ((channel * patch.t + copy) * patch.h + line) * patch.w,
                    frame_of(row, copy, patch), ((y * patch.h + line) * width + x * patch.w) * 3 + channel);
}

/// Red, green and blue of a line of pixels.
struct SplitLine {
  std::vector<uint8_t> channel[3];

  void read(const uint8_t* pixels, int64_t width) {
    for (auto& each : channel) each.resize(size_t(width));
    uint8_t *r = channel[0].data(), *g = channel[1].data(), *b = channel[2].data();
    for (int64_t x = 0; x < width; ++x)
      r[x] = pixels[3 * x], g[x] = pixels[3 * x + 1], b[x] = pixels[3 * x + 2];
  }
};

/// Copies runs of the patch's width; the common ones with a width that the compiler knows.
inline void copy_run(uint8_t* to, const uint8_t* from, int64_t width) {
  if (width == 8) std::memcpy(to, from, 8);
  else if (width == 16) std::memcpy(to, from, 16);
  else std::memcpy(to, from, size_t(width));
}

/// Tokens of one picture line by line, so that each line is read once: `line` of every patch of token row
/// `y`.
void put_line(const SplitLine& split, int64_t grid_width, const Patch& patch, int64_t copy, int64_t line,
              uint8_t* tokens) {
  const int64_t features = 3 * patch.t * patch.h * patch.w;
  for (int64_t channel = 0; channel < 3; ++channel) {
    uint8_t* to = tokens + ((channel * patch.t + copy) * patch.h + line) * patch.w;
    const uint8_t* from = split.channel[channel].data();
    for (int64_t x = 0; x < grid_width; ++x) copy_run(to + x * features, from + x * patch.w, patch.w);
  }
}

}  // namespace

int64_t whole_frames(int64_t num_frames, const Patch& patch) {
  check_patch(patch);
  return num_frames < 1 ? 0 : 1 + (num_frames - 1) / patch.t * patch.t;
}

int64_t frames_of_grid(int64_t time_rows, const Patch& patch) {
  check_patch(patch);
  return time_rows < 1 ? 0 : 1 + (time_rows - 1) * patch.t;
}

std::array<int64_t, 3> grid_of(int64_t num_frames, int64_t height, int64_t width, const Patch& patch) {
  check_patch(patch);
  ZT_CHECK(num_frames >= 1 && whole_frames(num_frames, patch) == num_frames, num_frames,
           " frames, expected 1 + a multiple of the temporal patch ", patch.t);
  ZT_CHECK(height >= 1 && width >= 1 && height % patch.h == 0 && width % patch.w == 0, "frames of ", width,
           "x", height, ", expected multiples of the patch ", patch.w, "x", patch.h);
  return {1 + (num_frames - 1) / patch.t, height / patch.h, width / patch.w};
}

Tokens tokenize(const Clip& clip, const Patch& patch) {
  const auto grid = grid_of(clip.num_frames, clip.height, clip.width, patch);
  ZT_CHECK(int64_t(clip.pixels.size()) == clip.num_frames * clip.height * clip.width * 3, "clip '", clip.name,
           "' holds ", clip.pixels.size(), " bytes, expected ", clip.num_frames, "x", clip.height, "x",
           clip.width, "x3");
  Tokens out{grid, Tensor::empty({grid[0] * grid[1] * grid[2], 3 * patch.t * patch.h * patch.w}, DType::kU8)};
  prefer_big_pages(out.tokens.raw(), size_t(out.tokens.bytes()));
  SplitLine split;
  for (int64_t row = 0; row < grid[0]; ++row)
    for (int64_t copy = 0; copy < patch.t; ++copy)
      for (int64_t y = 0; y < clip.height; ++y) {
        split.read(clip.frame(frame_of(row, copy, patch)) + y * clip.width * 3, clip.width);
        put_line(split, grid[2], patch, copy, y % patch.h,
                 out.tokens.row<uint8_t>((row * grid[1] + y / patch.h) * grid[2]));
      }
  return out;
}

Clip untokenize(const Tokens& tokens, const Patch& patch, double fps) {
  check_patch(patch);
  const auto& grid = tokens.grid;
  const int64_t features = 3 * patch.t * patch.h * patch.w;
  ZT_CHECK(tokens.tokens.dims() == 2 && tokens.tokens.rows() == tokens.num_tokens() &&
               tokens.tokens.row_size() == features && tokens.tokens.dtype() == DType::kU8,
           "tokens ", tokens.tokens.shape_text(), ", expected [", tokens.num_tokens(), ", ", features,
           "] u8");
  Clip clip;
  clip.num_frames = frames_of_grid(grid[0], patch);
  clip.height = grid[1] * patch.h;
  clip.width = grid[2] * patch.w;
  clip.fps = fps;
  const int64_t frame_size = clip.height * clip.width * 3;
  clip.pixels.resize(size_t(clip.num_frames * frame_size));
  std::vector<int64_t> first_sum(size_t(clip.num_frames > 0 ? frame_size : 0));
  visit_runs(grid, patch, clip.width, [&](int64_t token, int64_t element, int64_t frame, int64_t pixel) {
    const uint8_t* from = tokens.tokens.row<uint8_t>(token) + element;
    if (frame == 0)
      for (int64_t i = 0; i < patch.w; ++i) first_sum[size_t(pixel + 3 * i)] += from[i];
    else
      for (int64_t i = 0; i < patch.w; ++i) clip.frame(frame)[pixel + 3 * i] = from[i];
  });
  for (size_t i = 0; i < first_sum.size(); ++i)
    clip.pixels[i] = uint8_t((first_sum[i] + patch.t / 2) / patch.t);
  return clip;
}

}  // namespace zoetrope
