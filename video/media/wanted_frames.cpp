#include "video/media/wanted_frames.h"

#include <algorithm>
#include <set>

#include "video/media/sparse_reader.h"

namespace zoetrope {
namespace {

/// The last frame whose tick is not after grid point `point`; none before it: the first.
int64_t frame_at(const FrameIndex& index, const WindowSampler& sampler, int64_t point) {
  int64_t low = 0, high = index.num_frames();  // [0, low] are not after it, [high, ...) are
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (sampler.first_point_at_or_after(index.tick(middle)) <= point ? low : high) = middle;
  }
  return low;
}

}  // namespace

bool may_skip_groups(const MediaFile& file, const std::vector<WindowSampler>& samplers,
                     const DecodeRules& rules) {
  if (!file.can_seek()) return false;
  const double fps = file.facts().average_fps;
  return (fps > 0 && rules.fps * 2 <= fps) ||
         std::any_of(samplers.begin(), samplers.end(),
                     [](const WindowSampler& s) { return Ratio{} < s.window().start; });
}

std::vector<int64_t> wanted_frames(const FrameIndex& index, std::vector<WindowSampler>& samplers,
                                   bool every_frame) {
  std::set<int64_t> wanted{0};
  for (WindowSampler& sampler : samplers) {
    sampler.start_run(index.tick(0), index.tick(0));
    const auto is_inside = [&](int64_t frame) {
      return frame < index.num_frames() &&
             sampler.first_point_at_or_after(index.tick(frame)) < sampler.num_points();
    };
    if (every_frame && sampler.num_points() > 0)
      for (int64_t frame = frame_at(index, sampler, 0) + 1; is_inside(frame); ++frame) wanted.insert(frame);
    for (int64_t point = 0; point < sampler.num_points();) {
      const int64_t frame = frame_at(index, sampler, point);
      wanted.insert(frame);
      if (frame + 1 == index.num_frames()) break;
      point = sampler.first_point_at_or_after(index.tick(frame + 1));
    }
  }
  return {wanted.begin(), wanted.end()};
}

bool skips_groups(const FrameIndex& index, const std::vector<int64_t>& wanted, int delay) {
  int64_t order = 0;  // packets up to here are decoded
  for (int64_t frame : wanted) {
    if (SparseReader::jumps(index, frame, order, delay)) return true;
    order = std::max(order, index.order(frame));
  }
  return false;
}

}  // namespace zoetrope
