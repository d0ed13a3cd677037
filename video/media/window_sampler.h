// Collects the output frames of one window of a file, run by run, and keeps the longest run. Used by
// video/media/shown_frames.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "video/clip.h"
#include "video/media/decode.h"
#include "video/media/frame_grid.h"
#include "video/token_frames.h"

namespace zoetrope {

/// A decoded frame with its place in the file.
struct PlacedFrame {
  int64_t tick = 0, end_tick = 0;  ///< shown in [tick, end_tick), in the stream's time base
  bool still = false;              ///< a picture: shown once, whatever the rate
  int64_t index = 0;               ///< presentation index
  int64_t order = 0;               ///< packet's number in decoding order
};

/// What clips are made of.
enum class FrameKind { kPictures, kTokens };

class WindowSampler {
 public:
  /// `open_sink`: asked for each run's tokens; may be empty.
  WindowSampler(const Window& window, const DecodeRules& rules, Ratio time_base,
                OpenTokenSink open_sink = {});
  /// Starts a run. `file_start`: first presented tick of the file; `run_start`: of this run.
  void start_run(int64_t file_start, int64_t run_start);
  /// Number of output frames that show this frame.
  int64_t count_shown(const PlacedFrame& frame) const;
  /// Appends them. `rgb` of `frame_bytes`.
  void add(const PlacedFrame& frame, const std::vector<uint8_t>& rgb);
  /// Adds one frame that shows it, to be filled by the caller: the last of the run's.
  const TokenFrames& add_tokens(const PlacedFrame& frame, int64_t height, int64_t width);
  /// Ends the run; frames from packets of `first_bad_order` on are taken back.
  void end_run(int64_t first_bad_order);
  /// Output frames of this run at most, and the first of them that is not before `tick`.
  int64_t num_points() const { return limit_; }
  int64_t first_point_at_or_after(int64_t tick) const { return grid_.first_at_or_after(tick - file_start_); }
  /// No further frame of this run can be shown.
  bool is_full() const;
  /// True when the grid went on after max_seconds or the window's end.
  bool was_limited_by_length(int64_t last_tick_end) const;
  /// The longest run, with time since its own start; moves it out.
  Clip take();
  /// Its tokens, before `take`; none when it has pictures.
  std::optional<TokenFrames> take_tokens() { return std::move(best_.tokens); }
  /// Frames of the longest run so far.
  const std::vector<FrameSource>& sources() const { return best_.sources; }
  const Window& window() const { return window_; }

 private:
  int64_t count_by_frames(const PlacedFrame& frame) const;

  struct Run {
    std::vector<uint8_t> pixels;
    std::optional<TokenFrames> tokens;
    std::vector<FrameSource> sources;
    std::vector<int64_t> orders;
  };

  int64_t most_frames(int64_t frame_bytes) const;
  void reserve_pixels(size_t frame_bytes);
  void require_room(int64_t frame_bytes) const;
  void note_frame(const PlacedFrame& frame);

  Window window_;
  const DecodeRules& rules_;
  OpenTokenSink open_sink_;
  Ratio fps_, time_base_;
  FrameGrid grid_;
  int64_t file_start_ = 0, limit_ = 0, length_limit_ = 0;
  bool is_cut_ = false;  ///< by max_seconds, before the window's end
  Run run_, best_;
};

}  // namespace zoetrope
