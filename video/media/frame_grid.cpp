#include "video/media/frame_grid.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace zoetrope {
namespace {

__extension__ typedef __int128 Wide;

constexpr double kMaxSeconds =
    1e9;  // some thirty years: longer than any file, and in microseconds far from overflow

int64_t to_microseconds(double seconds) {
  return std::llround(std::clamp(seconds, -kMaxSeconds, kMaxSeconds) * 1e6);
}

Wide ceil_divide(Wide a, Wide b) { return a >= 0 ? (a + b - 1) / b : -((-a) / b); }

/// Smallest k >= 0 with k * den / num >= ticks * base - start.
int64_t first_point(Wide ticks, Ratio base, int64_t start_microseconds, Ratio fps) {
  const Wide numerator = (ticks * base.num * 1000000 - Wide(start_microseconds) * base.den) * fps.num;
  const Wide k = ceil_divide(numerator, Wide(base.den) * 1000000 * fps.den);
  return int64_t(std::clamp<Wide>(k, 0, Wide(INT64_MAX) / 2));
}

}  // namespace

Ratio ratio_of_fps(double fps) {
  ZT_CHECK(std::isfinite(fps) && fps > 0 && fps <= 1e6, "frame rate ", fps);
  Ratio best{std::llround(fps), 1};
  for (int64_t den = 1; den <= 1001; ++den) {
    const int64_t num = std::llround(fps * double(den));
    if (num < 1) continue;
    const double error = std::abs(double(num) / double(den) - fps);
    if (best.num < 1 || error < std::abs(double(best.num) / double(best.den) - fps) - 1e-12 * fps)
      best = {num, den};
  }
  ZT_CHECK(best.num >= 1, "frame rate ", fps, " is below one frame in 1001 seconds");
  return best;
}

FrameGrid::FrameGrid(Ratio fps, double start_seconds, Ratio time_base)
    : fps_(fps), time_base_(time_base), start_microseconds_(to_microseconds(start_seconds)) {
  ZT_CHECK(time_base.num > 0 && time_base.den > 0, "time base ", time_base.num, "/", time_base.den);
}

int64_t FrameGrid::first_at_or_after(int64_t tick) const {
  return first_point(tick, time_base_, start_microseconds_, fps_);
}

int64_t FrameGrid::first_at_or_after_seconds(double seconds) const {
  return first_point(to_microseconds(seconds), {1, 1000000}, start_microseconds_, fps_);
}

}  // namespace zoetrope
