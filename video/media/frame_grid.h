// Exact arithmetic on times: where on the constant-rate grid a timestamp lies. Used by video/media/decode.
#pragma once

#include <cstdint>

namespace zoetrope {

/// A ratio of integers, denominator positive.
struct Ratio {
  int64_t num = 0, den = 1;
};

/// The rate nearest to `fps` with a denominator of at most 1001: 29.97 is 2997/100, 23.976023976 is
/// 24000/1001.
Ratio ratio_of_fps(double fps);

/// Grid points start + k / fps, k = 0, 1, ..., on the timeline of a stream.
class FrameGrid {
 public:
  /// Units: start_seconds is rounded to whole microseconds; time_base is seconds per tick.
  FrameGrid(Ratio fps, double start_seconds, Ratio time_base);
  /// First k whose grid point is not before this tick (never negative). Exact.
  int64_t first_at_or_after(int64_t tick) const;
  /// First k at or after this many seconds of the timeline.
  int64_t first_at_or_after_seconds(double seconds) const;
  /// Seconds from the window's start to grid point k.
  double seconds_of(int64_t k) const { return double(k) * double(fps_.den) / double(fps_.num); }

 private:
  Ratio fps_, time_base_;
  int64_t start_microseconds_;
};

}  // namespace zoetrope
