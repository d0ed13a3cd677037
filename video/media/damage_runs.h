// Which frames of a damaged file are sound: a run starts at the file's first frame or at a sound key frame
// after damage, and ends before the next damage, in decoding order. Used by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <limits>
#include <set>

#include "video/media/frame_clock.h"

namespace zoetrope {

class DamageRuns {
 public:
  /// Packet `order` is damaged, at `tick` on the timeline when that is known (else AV_NOPTS_VALUE).
  void note_bad(int64_t order, int64_t tick);
  /// Damaged packets so far.
  int64_t num_bad() const { return int64_t(bad_orders_.size()); }
  bool in_run() const { return in_run_; }
  /// Whether the run ends before this frame.
  bool ends_before(FrameTime time, bool damaged) const;
  /// Whether a run can start with this frame; `first`: nothing was decoded before it.
  bool can_start(FrameTime time, bool damaged, bool first, bool key) const;
  void start_run();
  void end_run() { in_run_ = false; }
  /// First damaged packet since the run began; frames from it on are not sound.
  int64_t first_bad_order() const { return bad_order_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  std::set<int64_t> bad_orders_;
  bool in_run_ = false;
  int64_t bad_order_ = kNever, bad_tick_ = kNever;  ///< first damage since the run began
  int64_t last_bad_order_ = -1;
};

}  // namespace zoetrope
