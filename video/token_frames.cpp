#include "video/token_frames.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/big_pages.h"
#include "core/check.h"

namespace zoetrope {
namespace {

int64_t time_rows_of(int64_t frames, const Patch& patch) {
  return frames < 1 ? 0 : 1 + (frames - 1 + patch.t - 1) / patch.t;
}

}  // namespace

void put_picture(const TokenPlace& to, const uint8_t* rgb) {
  const Patch& patch = to.patch;
  for (int64_t y = 0; y < to.height; ++y) {
    uint8_t* line = to.first + y / patch.h * to.row_bytes() + y % patch.h * patch.w;
    for (int64_t x = 0; x < to.width; x += patch.w, line += to.token_bytes(), rgb += 3 * patch.w)
      for (int64_t i = 0; i < patch.w; ++i)
        for (int64_t channel = 0; channel < 3; ++channel)
          line[channel * to.channel_bytes() + i] = rgb[3 * i + channel];
  }
}

void copy_picture(const TokenPlace& to, const TokenPlace& from) {
  const int64_t bytes = to.patch.h * to.patch.w;
  for (int64_t y = 0; y < to.height / to.patch.h; ++y)
    for (int64_t x = 0; x < to.width / to.patch.w; ++x)
      for (int64_t channel = 0; channel < 3; ++channel) {
        const int64_t at = y * to.row_bytes() + x * to.token_bytes() + channel * to.channel_bytes();
        std::memcpy(to.first + at, from.first + at, size_t(bytes));
      }
}

TokenFrames::TokenFrames(const Patch& patch, int64_t height, int64_t width, int64_t most)
    : patch_(patch), height_(height), width_(width) {
  grid_of(1, height, width, patch);
  try {
    make_room(std::max<int64_t>(1, time_rows_of(most, patch)));
  } catch (const std::bad_alloc&) {
    // Where even untouched memory is rationed, room is found as frames come.
  }
}

/// Untouched memory costs nothing, moving frames does.
void TokenFrames::make_room(int64_t time_rows) {
  const auto grid = grid_of(1, height_, width_, patch_);
  const int64_t features = 3 * patch_.t * patch_.h * patch_.w;
  Tensor more = Tensor::empty({time_rows * grid[1] * grid[2], features}, DType::kU8);
  prefer_big_pages(more.raw(), size_t(more.bytes()));
  const int64_t used = time_rows_of(frames_, patch_) * grid[1] * grid[2] * features;
  if (used > 0) std::memcpy(more.raw(), tokens_.raw(), size_t(used));
  tokens_ = more;
}

void TokenFrames::add() {
  if (frames_ == 1) repeat_first();
  const auto grid = grid_of(1, height_, width_, patch_);
  const int64_t had = tokens_.rows() / (grid[1] * grid[2]), needed = time_rows_of(frames_ + 1, patch_);
  if (needed > had) make_room(std::max(needed, had + had / 2));
  ++frames_;
}

TokenPlace TokenFrames::place(int64_t frame) const {
  ZT_CHECK(frame >= 0 && frame < frames_, "frame ", frame, " of ", frames_);
  const int64_t row = frame == 0 ? 0 : 1 + (frame - 1) / patch_.t,
                copy = frame == 0 ? 0 : (frame - 1) % patch_.t;
  TokenPlace place{tokens_.data<uint8_t>(), height_, width_, patch_};
  place.first += row * (height_ / patch_.h) * place.row_bytes() + copy * patch_.h * patch_.w;
  return place;
}

void TokenFrames::repeat_first() {
  const TokenPlace first = place(0);
  for (int64_t copy = 1; copy < patch_.t; ++copy) {
    TokenPlace other = first;
    other.first += copy * patch_.h * patch_.w;
    copy_picture(other, first);
  }
}

Tokens TokenFrames::take(int64_t frames) {
  ZT_CHECK(frames <= frames_, "tokens of ", frames, " frames, there are ", frames_);
  const auto grid = grid_of(frames, height_, width_, patch_);
  if (frames_ == 1) repeat_first();
  Tokens out{grid, tokens_.slice_rows(0, grid[0] * grid[1] * grid[2])};
  tokens_ = {};
  frames_ = 0;
  return out;
}

}  // namespace zoetrope
