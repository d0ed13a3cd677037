#include "video/sources/frame_extraction.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope {
namespace {

int64_t rounded_down(int64_t frames) { return (frames - 1) / 4 * 4 + 1; }

/// First frames of one target's spans.
std::vector<int64_t> starts_of(const FrameExtraction& extraction, int64_t target, int64_t num_frames) {
  std::vector<int64_t> starts;
  const int64_t last = num_frames - target;
  if (last < 0) return starts;
  const std::string& mode = extraction.mode;
  if (mode == "head" || (mode == "uniform" && extraction.samples == 1)) {
    starts.push_back(0);
  } else if (mode == "chunk") {
    for (int64_t at = 0; at <= last; at += target) starts.push_back(at);
  } else if (mode == "slide") {
    for (int64_t at = 0; at <= last; at += extraction.stride) starts.push_back(at);
  } else {
    // In double and cut off, like numpy.linspace with dtype=int, so that the frames are the same.
    const double step = double(last) / double(extraction.samples - 1);
    for (int64_t i = 0; i < extraction.samples; ++i)
      starts.push_back(i == extraction.samples - 1 ? last : int64_t(double(i) * step));
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  }
  return starts;
}

}  // namespace

std::vector<int64_t> rounded_targets(std::vector<int64_t> targets) {
  for (int64_t& target : targets) target = rounded_down(target);
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

std::vector<FrameSpan> spans_of(const FrameExtraction& extraction, int64_t num_frames) {
  ZT_CHECK(num_frames >= 1, num_frames, " frames");
  if (extraction.mode == "full") return {{0, rounded_down(std::min(num_frames, extraction.most))}};
  std::vector<FrameSpan> spans;
  for (int64_t target : rounded_targets(extraction.target_frames))
    for (int64_t start : starts_of(extraction, target, num_frames)) spans.push_back({start, target});
  return spans;
}

}  // namespace zoetrope
