// Where on the constant-rate grid a timestamp lies, exactly. Used by video/media/window_sampler and
// video/media/seek_plan.
#pragma once

#include <cstdint>

#include "video/media/ratio.h"

namespace zoetrope {

/// Grid points start + k / fps, k = 0, 1, ..., on the timeline of a stream.
class FrameGrid {
 public:
  /// Units: start in seconds; time_base in seconds per tick.
  FrameGrid(Ratio fps, Ratio start, Ratio time_base);
  /// First k whose grid point is not before this tick (never negative). Exact.
  int64_t first_at_or_after(int64_t tick) const;
  /// First k at or after this many seconds of the timeline.
  int64_t first_at_or_after_seconds(Ratio seconds) const;
  /// Seconds from the window's start to grid point k.
  double seconds_of(int64_t k) const { return double(k) * double(fps_.den) / double(fps_.num); }

 private:
  Ratio fps_, start_, time_base_;
};

}  // namespace zoetrope
