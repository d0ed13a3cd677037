#include "video/media/window_sampler.h"

#include <algorithm>
#include <new>

#include "core/big_pages.h"
#include "core/check.h"

namespace zoetrope {

WindowSampler::WindowSampler(const Window& window, const DecodeRules& rules, Ratio time_base,
                             OpenTokenSink open_sink)
    : window_(window),
      rules_(rules),
      open_sink_(std::move(open_sink)),
      fps_(ratio_of_fps(rules.fps)),
      time_base_(time_base),
      grid_(fps_, window.start, time_base) {
  length_limit_ =
      FrameGrid(fps_, {0, 1}, time_base).first_at_or_after_seconds(seconds_of_double(rules.max_seconds));
}

void WindowSampler::start_run(int64_t file_start, int64_t run_start) {
  file_start_ = file_start;
  Ratio late{0, time_base_.den};  // of the run, after the file's start
  ZT_REQUIRE(!__builtin_sub_overflow(run_start, file_start, &late.num) &&
                 !__builtin_mul_overflow(late.num, time_base_.num, &late.num),
             "timestamps ", file_start, " and ", run_start, " in one file can't be right");
  grid_ = FrameGrid(fps_, window_.start < late ? late : window_.start, time_base_);
  const int64_t window_limit = grid_.first_at_or_after_seconds(window_.end);
  limit_ = std::min(length_limit_, window_limit);
  is_cut_ = length_limit_ < window_limit && !window_.is_by_frames();
  if (window_.is_by_frames()) limit_ = window_.num_frames;
  run_ = {};
}

/// 1 when the frame is the window's next one by count.
int64_t WindowSampler::count_by_frames(const PlacedFrame& frame) const {
  const int64_t number = frame.index * window_.keep.num / window_.keep.den;
  const int64_t before = frame.index == 0 ? -1 : (frame.index - 1) * window_.keep.num / window_.keep.den;
  const int64_t next = int64_t(run_.sources.size());
  return next < limit_ && number > before && number == window_.first_frame + next ? 1 : 0;
}

int64_t WindowSampler::count_shown(const PlacedFrame& frame) const {
  if (window_.is_by_frames()) return count_by_frames(frame);
  const int64_t next = int64_t(run_.sources.size());
  if (frame.still) return next == 0 && limit_ > 0 && window_.start == Ratio{} ? 1 : 0;
  const int64_t begin = std::max(next, grid_.first_at_or_after(frame.tick - file_start_));
  const int64_t end = std::min(limit_, grid_.first_at_or_after(frame.end_tick - file_start_));
  return std::max<int64_t>(0, end - begin);
}

/// Frames that the window may show and the rules allow, one at least.
int64_t WindowSampler::most_frames(int64_t frame_bytes) const {
  const int64_t most = rules_.max_clip_bytes / std::max<int64_t>(frame_bytes, 1);
  return std::clamp<int64_t>(limit_, 1, std::max<int64_t>(most, 1));
}

/// Room for all of them: untouched memory costs nothing, moving frames does.
void WindowSampler::reserve_pixels(size_t frame_bytes) {
  try {
    run_.pixels.reserve(size_t(most_frames(int64_t(frame_bytes))) * frame_bytes);
    prefer_big_pages(run_.pixels.data(), run_.pixels.capacity());
  } catch (const std::bad_alloc&) {
    // Where even untouched memory is rationed, the buffer grows frame by frame.
  }
}

void WindowSampler::require_room(int64_t frame_bytes) const {
  ZT_REQUIRE((int64_t(run_.sources.size()) + 1) * frame_bytes <= rules_.max_clip_bytes,
             "the clip needs more than ", rules_.max_clip_bytes,
             " bytes of pixels; lower --max-seconds, --fps or --area");
}

void WindowSampler::note_frame(const PlacedFrame& frame) {
  const double seconds = double(frame.tick) * double(time_base_.num) / double(time_base_.den);
  run_.sources.push_back({seconds, grid_.seconds_of(int64_t(run_.sources.size())), frame.index});
  run_.orders.push_back(frame.order);
}

void WindowSampler::add(const PlacedFrame& frame, const std::vector<uint8_t>& rgb) {
  const int64_t count = count_shown(frame);
  for (int64_t i = 0; i < count; ++i) {
    require_room(int64_t(rgb.size()));
    if (run_.pixels.empty()) reserve_pixels(rgb.size());
    run_.pixels.insert(run_.pixels.end(), rgb.begin(), rgb.end());
    note_frame(frame);
  }
}

const TokenFrames& WindowSampler::add_tokens(const PlacedFrame& frame, int64_t height, int64_t width) {
  const int64_t frame_bytes = height * width * 3;
  require_room(frame_bytes);
  if (!run_.tokens)
    run_.tokens.emplace(rules_.size.patch, height, width, most_frames(frame_bytes),
                        open_sink_ ? open_sink_() : TokenSink{});
  run_.tokens->add();
  note_frame(frame);
  return *run_.tokens;
}

void WindowSampler::end_run(int64_t first_bad_order) {
  size_t good = 0;
  while (good < run_.orders.size() && run_.orders[good] < first_bad_order) ++good;
  if (good > best_.sources.size()) {
    run_.pixels.resize(run_.pixels.size() / run_.sources.size() * good);
    if (run_.tokens) run_.tokens->cut(int64_t(good));
    run_.sources.resize(good);
    best_ = std::move(run_);
  }
  run_ = {};
}

bool WindowSampler::is_full() const { return int64_t(run_.sources.size()) >= limit_; }

bool WindowSampler::was_limited_by_length(int64_t last_tick_end) const {
  return int64_t(best_.sources.size()) == length_limit_ &&
         grid_.first_at_or_after(last_tick_end - file_start_) > length_limit_ && is_cut_;
}

Clip WindowSampler::take() {
  Clip clip;
  clip.num_frames = int64_t(best_.sources.size());
  clip.fps = rules_.fps;
  clip.pixels = std::move(best_.pixels);
  clip.sources = std::move(best_.sources);
  best_ = {};
  return clip;
}

}  // namespace zoetrope
