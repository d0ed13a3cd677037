#include "video/media/frame_grid.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope {
namespace {

__extension__ typedef __int128 Wide;

/// a * b, or the nearest number that fits: only times of thousands of years get there.
Wide multiply(Wide a, Wide b) {
  constexpr Wide kMost = Wide(INT64_MAX) << 62;
  Wide out;
  if (__builtin_mul_overflow(a, b, &out) || out > kMost || out < -kMost)
    return (a < 0) == (b < 0) ? kMost : -kMost;
  return out;
}

Wide ceil_divide(Wide a, Wide b) { return a > 0 ? (a - 1) / b + 1 : -((-a) / b); }

/// Smallest k >= 0 with start + k / fps >= ticks * base.
int64_t first_point(int64_t ticks, Ratio base, Ratio start, Ratio fps) {
  const Wide time = multiply(multiply(ticks, base.num), start.den);
  const Wide begin = multiply(start.num, base.den);
  const Wide k =
      ceil_divide(multiply(time - begin, fps.num), multiply(multiply(base.den, start.den), fps.den));
  return int64_t(std::clamp<Wide>(k, 0, Wide(INT64_MAX) / 2));
}

}  // namespace

FrameGrid::FrameGrid(Ratio fps, Ratio start, Ratio time_base)
    : fps_(fps), start_(start), time_base_(time_base) {
  ZT_CHECK(time_base.num > 0 && time_base.den > 0, "time base ", time_base.num, "/", time_base.den);
}

int64_t FrameGrid::first_at_or_after(int64_t tick) const {
  return first_point(tick, time_base_, start_, fps_);
}

int64_t FrameGrid::first_at_or_after_seconds(Ratio seconds) const {
  return first_point(seconds.num, {1, seconds.den}, start_, fps_);
}

}  // namespace zoetrope
