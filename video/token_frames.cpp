#include "video/token_frames.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/big_pages.h"
#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int64_t kRowsHeld = 2;  // of a clip that streams: a frame may be copied from the row before

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

TokenFrames::TokenFrames(const Patch& patch, int64_t height, int64_t width, int64_t most, TokenSink sink)
    : patch_(patch), height_(height), width_(width), sink_(std::move(sink)) {
  grid_of(1, height, width, patch);
  try {
    make_room(streams() ? kRowsHeld : std::max<int64_t>(1, time_rows_of(most, patch)));
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
  const int64_t used = tokens_.rows() == 0 ? 0 : time_rows_of(frames_, patch_) * grid[1] * grid[2] * features;
  if (used > 0) std::memcpy(more.raw(), tokens_.raw(), size_t(used));
  tokens_ = more;
}

void TokenFrames::add() {
  if (frames_ == 1) repeat_first();
  const auto grid = grid_of(1, height_, width_, patch_);
  const int64_t had = tokens_.rows() / (grid[1] * grid[2]), needed = time_rows_of(frames_ + 1, patch_);
  if (streams()) {
    if (had == 0) make_room(kRowsHeld);
    put_rows_until(needed - 1);
  } else if (needed > had) {
    make_room(std::max(needed, had + had / 2));
  }
  ++frames_;
}

TokenPlace TokenFrames::place(int64_t frame) const {
  int64_t row = frame == 0 ? 0 : 1 + (frame - 1) / patch_.t;
  const int64_t copy = frame == 0 ? 0 : (frame - 1) % patch_.t;
  ZT_CHECK(frame >= 0 && frame < frames_ && (!streams() || row > rows_put_ - kRowsHeld), "frame ", frame,
           " of ", frames_);
  if (streams()) row %= kRowsHeld;
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

Tensor TokenFrames::time_row(int64_t row) const {
  const int64_t rows = (height_ / patch_.h) * (width_ / patch_.w);
  return tokens_.slice_rows(row % kRowsHeld * rows, (row % kRowsHeld + 1) * rows);
}

void TokenFrames::put_rows_until(int64_t row) {
  for (; rows_put_ < row; ++rows_put_) sink_.put(time_row(rows_put_));
}

/// From here on the clip is held.
void TokenFrames::stop_streaming() {
  const int64_t rows = time_rows_of(frames_, patch_), put = rows_put_;
  const Tensor held = tokens_;
  tokens_ = {};
  make_room(rows);
  const int64_t each = (height_ / patch_.h) * (width_ / patch_.w);
  if (put > 0) sink_.read_back(tokens_.slice_rows(0, put * each));
  for (int64_t row = put; row < rows; ++row)
    std::memcpy(tokens_.slice_rows(row * each, (row + 1) * each).raw(),
                held.slice_rows(row % kRowsHeld * each, (row % kRowsHeld + 1) * each).raw(),
                size_t(each * held.row_size()));
  sink_ = {};
  rows_put_ = 0;
}

void TokenFrames::cut(int64_t frames) {
  if (frames >= frames_) return;
  if (streams()) stop_streaming();
  frames_ = frames;
}

Tokens TokenFrames::take(int64_t frames) {
  ZT_CHECK(frames <= frames_, "tokens of ", frames, " frames, there are ", frames_);
  const auto grid = grid_of(frames, height_, width_, patch_);
  if (frames_ == 1) repeat_first();
  if (streams() && rows_put_ <= grid[0]) {
    put_rows_until(grid[0]);
    tokens_ = {};
    frames_ = 0;
    return {grid, {}};
  }
  if (streams()) stop_streaming();
  Tokens out{grid, tokens_.slice_rows(0, grid[0] * grid[1] * grid[2])};
  tokens_ = {};
  frames_ = 0;
  return out;
}

}  // namespace zoetrope
