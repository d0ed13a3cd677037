#include "video/media/shown_frames.h"

#include <algorithm>

namespace zoetrope {

ShownFrames::ShownFrames(const MediaFile& file, const DecodeRules& rules, const std::vector<Window>& windows,
                         FrameKind kind, const OpenTokenSink& open_sink)
    : file_(file), kind_(kind), converter_(rules.size), held_(libav::new_frame()) {
  const AVRational base = file.stream().time_base;
  // Clips of one file come side by side: only a single one can go to a sink.
  for (const Window& window : windows)
    samplers_.emplace_back(window, rules, Ratio{base.num, base.den},
                           windows.size() == 1 ? open_sink : OpenTokenSink());
}

std::array<int, 2> ShownFrames::stream_aspect() const {
  return {file_.stream().sample_aspect_ratio.num, file_.stream().sample_aspect_ratio.den};
}

void ShownFrames::start_run(int64_t file_start, int64_t run_start) {
  for (WindowSampler& sampler : samplers_) sampler.start_run(file_start, run_start);
}

void ShownFrames::end_run(int64_t first_bad_order) {
  for (WindowSampler& sampler : samplers_) sampler.end_run(first_bad_order);
}

void ShownFrames::hold(AVFrame& frame, const PlacedFrame& place) {
  converter_.prepare(frame, libav::display_matrix_of(file_.stream()), stream_aspect());
  av_frame_unref(held_.get());
  av_frame_move_ref(held_.get(), &frame);
  held_place_ = place;
  holding_ = true;
}

void ShownFrames::show_until(int64_t end_tick) {
  if (!holding_) return;
  holding_ = false;
  held_place_.end_tick = end_tick;
  if (kind_ == FrameKind::kTokens) show_tokens();
  else show_pictures();
}

void ShownFrames::show_pictures() {
  rgb_.clear();
  const FrameConverter& about = converter_.pictures();
  for (WindowSampler& sampler : samplers_) {
    if (sampler.count_shown(held_place_) == 0) continue;
    if (rgb_.empty()) {
      rgb_.resize(size_t(about.target().width * about.target().height * 3));
      converter_.pictures().convert(*held_, libav::display_matrix_of(file_.stream()), stream_aspect(),
                                    rgb_.data());
    }
    sampler.add(held_place_, rgb_);
  }
}

/// Converts to the first place that shows the frame, and copies to the others.
void ShownFrames::show_tokens() {
  const TokenFrames* source = nullptr;
  int64_t source_frame = 0;
  for (WindowSampler& sampler : samplers_)
    for (int64_t left = sampler.count_shown(held_place_); left > 0; --left) {
      const TargetSize& size = converter_.pictures().target();
      const TokenFrames& frames = sampler.add_tokens(held_place_, size.height, size.width);
      const TokenPlace place = frames.place(frames.num_frames() - 1);
      if (source != nullptr) copy_picture(place, source->place(source_frame));
      else converter_.convert(*held_, libav::display_matrix_of(file_.stream()), stream_aspect(), place);
      source = &frames;
      source_frame = frames.num_frames() - 1;
    }
}

bool ShownFrames::needs_every_frame() const {
  return std::any_of(samplers_.begin(), samplers_.end(),
                     [](const WindowSampler& s) { return s.window().is_by_frames(); });
}

bool ShownFrames::all_full() const {
  return std::all_of(samplers_.begin(), samplers_.end(), [](const WindowSampler& s) { return s.is_full(); });
}

}  // namespace zoetrope
