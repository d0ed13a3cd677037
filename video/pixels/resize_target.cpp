#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "video/pixels/resize.h"

namespace zoetrope {
namespace {

/// Multiples of `step` around `value`, at least one step.
std::vector<int64_t> multiples_around(double value, int64_t step) {
  const int64_t below = std::max<int64_t>(1, int64_t(std::floor(value / double(step) + 1e-9))) * step;
  return {below, below + step};
}

struct Choice {
  int64_t width = 0, height = 0;
  double cost = 0;
};

/// The best pair of multiples near width x height; its product is at most `most` unless a single patch is
/// more.
Choice best_multiples(double width, double height, double most, const Patch& patch) {
  Choice best;
  for (int64_t w : multiples_around(width, patch.w))
    for (int64_t h : multiples_around(height, patch.h)) {
      if (double(w) * double(h) > most * (1 + 1e-9)) continue;
      // Equal weight for a wrong shape and a wrong area, both as logarithms of ratios.
      const double cost = std::abs(std::log(double(w) * height / (double(h) * width))) +
                          std::abs(std::log(double(w) * double(h) / (width * height)));
      if (best.width == 0 || cost < best.cost - 1e-12) best = {w, h, cost};
    }
  if (best.width > 0) return best;
  // Very long pictures: one patch on the short side, as much as the area allows on the long one.
  const bool wide = width > height;
  const int64_t short_side = wide ? patch.h : patch.w, step = wide ? patch.w : patch.h;
  const int64_t room = int64_t(most / double(short_side)) / step * step;
  const int64_t long_side =
      std::clamp<int64_t>(int64_t(wide ? width : height) / step * step, step, std::max(step, room));
  return wide ? Choice{long_side, short_side, 0} : Choice{short_side, long_side, 0};
}

}  // namespace

TargetSize choose_target(double shown_width, double shown_height, const SizeRule& rule) {
  const Patch& patch = rule.patch;
  ZT_REQUIRE(shown_width >= 0.5 && shown_height >= 0.5, "a picture of ", shown_width, "x", shown_height,
             " pixels");
  const double grow = std::sqrt(double(rule.area) / (shown_width * shown_height));
  TargetSize target;
  if (grow >= 1 && !rule.upscale) {
    target.width = int64_t(std::llround(shown_width)) / patch.w * patch.w;
    target.height = int64_t(std::llround(shown_height)) / patch.h * patch.h;
    ZT_REQUIRE(target.width > 0 && target.height > 0, std::llround(shown_width), "x",
               std::llround(shown_height), " pixels, smaller than one patch of ", patch.w, "x", patch.h,
               "; --upscale enlarges it");
    target.scaled_width = std::llround(shown_width);
    target.scaled_height = std::llround(shown_height);
  } else {
    const Choice choice = best_multiples(shown_width * grow, shown_height * grow, double(rule.area), patch);
    target.width = choice.width;
    target.height = choice.height;
    const double cover = std::max(double(target.width) / shown_width, double(target.height) / shown_height);
    ZT_REQUIRE(cover <= 1 || rule.upscale, std::llround(shown_width), "x", std::llround(shown_height),
               " pixels can't cover ", target.width, "x", target.height,
               " without growing; --upscale enlarges it");
    target.scaled_width = std::max<int64_t>(target.width, std::llround(shown_width * cover));
    target.scaled_height = std::max<int64_t>(target.height, std::llround(shown_height * cover));
  }
  const double scale =
      std::max(double(target.scaled_width) / shown_width, double(target.scaled_height) / shown_height);
  const double kept =
      double(target.width) * double(target.height) / (shown_width * scale * shown_height * scale);
  target.crop_loss = target.scaled_width == target.width && target.scaled_height == target.height
                         ? 0
                         : std::max(0.0, 1 - kept);
  return target;
}

int Orientation::rotation() const {
  if (!swap) return flip_y ? 180 : 0;
  return flip_x ? 90 : 270;
}

bool Orientation::mirrored() const { return swap == (flip_x == flip_y); }

Orientation orientation_of(const int32_t* m) {
  if (m == nullptr) return {};
  // x' = m0 x + m3 y, y' = m1 x + m4 y in 16.16 fixed point: two of the four must be (nearly) nothing.
  const double a = m[0], b = m[1], c = m[3], d = m[4];
  const double straight = std::min(std::abs(a), std::abs(d)), turned = std::min(std::abs(b), std::abs(c));
  const double size = std::max(straight, turned);
  ZT_REQUIRE(size > 0, "the display matrix is singular");
  if (straight > 1000 * std::max(std::abs(b), std::abs(c))) return {false, a < 0, d < 0};
  ZT_REQUIRE(turned > 1000 * std::max(std::abs(a), std::abs(d)),
             "the display matrix turns the picture by other than a multiple of 90 degrees");
  return {true, c < 0, b < 0};
}

}  // namespace zoetrope
