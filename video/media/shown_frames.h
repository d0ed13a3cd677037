// The frames of a file as they are shown: each is held until the next one's time is known, then converted
// once, if any window's grid shows it, and given to the windows. Used by video/media/file_decoder.
#pragma once

#include <vector>

#include "video/media/media_file.h"
#include "video/media/window_sampler.h"
#include "video/pixels/token_converter.h"

namespace zoetrope {

class ShownFrames {
 public:
  ShownFrames(const MediaFile& file, const DecodeRules& rules, const std::vector<Window>& windows,
              FrameKind kind, const OpenTokenSink& open_sink);
  /// Starts a run of sound frames. `file_start`: first presented tick of the file; `run_start`: of this run.
  void start_run(int64_t file_start, int64_t run_start);
  /// Ends the run; frames from packets of `first_bad_order` on are taken back.
  void end_run(int64_t first_bad_order);
  /// Takes the next frame of the run; its end is not known yet. Moves the picture out of `frame`.
  void hold(AVFrame& frame, const PlacedFrame& place);
  /// The frame that is held, or null.
  const AVFrame* held() const { return holding_ ? held_.get() : nullptr; }
  const PlacedFrame& held_place() const { return held_place_; }
  /// Shows the held frame, if there is one, until this tick.
  void show_until(int64_t end_tick);
  /// No window can show a further frame of this run.
  bool all_full() const;
  /// Every shown frame is wanted, not only those that the windows' grids show: nothing may be skipped.
  bool needs_every_frame() const;
  std::vector<WindowSampler>& samplers() { return samplers_; }
  const FrameConverter& converter() const { return converter_.pictures(); }

 private:
  std::array<int, 2> stream_aspect() const;
  void show_pictures();
  void show_tokens();

  const MediaFile& file_;
  FrameKind kind_;
  TokenConverter converter_;
  std::vector<WindowSampler> samplers_;
  libav::Frame held_;
  PlacedFrame held_place_;
  bool holding_ = false;
  std::vector<uint8_t> rgb_;
};

}  // namespace zoetrope
