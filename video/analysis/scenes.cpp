#include "video/analysis/scenes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr double kContentThreshold = 27, kAdaptiveRatio = 3, kStill = 1e-5;
constexpr int64_t kAdaptiveWindow = 2;
constexpr Ratio kShortestScene{3, 5};
constexpr const char* kNames[] = {"none", "content", "adaptive"};

/// Mean change of the neighbours; at both ends of the file of those that exist.
double mean_around(const std::vector<ContentChange>& changes, int64_t k) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = k - kAdaptiveWindow; i <= k + kAdaptiveWindow; ++i) {
    if (i == k || i < 0 || i >= int64_t(changes.size())) continue;
    sum += changes[size_t(i)].score;
    ++count;
  }
  return count == 0 ? 0 : sum / double(count);
}

bool stands_out(const std::vector<ContentChange>& changes, int64_t k, SceneDetector detector) {
  const double score = changes[size_t(k)].score;
  if (detector == SceneDetector::kContent) return score >= kContentThreshold;
  const double around = mean_around(changes, k);
  return score >= kLeastCutScore && (around < kStill || score / around >= kAdaptiveRatio);
}

Ratio between(Ratio a, Ratio b) { return {b.num - a.num, a.den}; }  // times of one file: one denominator

}  // namespace

SceneDetector scene_detector_of(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kNames[i]) return SceneDetector(i);
  throw UsageError(join_message("--scenes '", name, "': expected none, content or adaptive"));
}

const char* name_of(SceneDetector detector) { return kNames[int(detector)]; }

std::vector<SceneCut> find_cuts(const std::vector<ContentChange>& changes, const std::vector<Ratio>& times,
                                SceneDetector detector) {
  std::vector<bool> in_flash(changes.size(), false);
  for (size_t k = 0; k < changes.size(); ++k) {
    const size_t frames = size_t(changes[k].flash_frames);
    if (frames > 0) in_flash[k] = in_flash[k - frames] = true;
  }
  std::vector<SceneCut> cuts;
  for (int64_t k = 1; k < int64_t(changes.size()); ++k) {
    if (in_flash[size_t(k)] || !stands_out(changes, k, detector)) continue;
    const Ratio time = times[size_t(k)];
    if (!cuts.empty() && between(cuts.back().time, time) < kShortestScene) continue;
    cuts.push_back({k, time, changes[size_t(k)].score});
  }
  return cuts;
}

FileScenes find_scenes(const MediaLocation& location, SceneDetector detector, DecodeRules rules) {
  // One small picture in 1000 s: the decoder has to show something.
  rules.size = {{1, 1, 1}, 64, false};
  rules.fps = 0.001;
  rules.max_seconds = 1e9;
  std::optional<ContentMeter> meter;
  std::vector<ContentChange> changes;
  std::vector<Ratio> times;
  const auto decoded =
      decode_file(location, rules, {}, [&](const AVFrame& frame, const PresentedFrame& place) {
        if (place.index == 0) {  // also when the decode starts again
          meter.emplace();
          changes.clear();
          times.clear();
        }
        changes.push_back(meter->observe(frame));
        times.push_back(place.time);
      });
  // Cuts that depend on how far a slow machine came would be other clips in the next run.
  ZT_REQUIRE(!decoded[0].undecided, "'", location.path,
             "': its scenes could not be found: ", decoded[0].refused);
  if (changes.empty() || !decoded[0].refused.empty()) return {};
  return {int64_t(changes.size()), times.back(), find_cuts(changes, times, detector)};
}

std::vector<Window> windows_of(const FileScenes& scenes, double max_seconds) {
  std::vector<Window> windows;
  std::vector<Ratio> starts{Ratio{0, scenes.last_time.den}};
  for (const SceneCut& cut : scenes.cuts) starts.push_back(cut.time);
  // The last frame lasts about as long as the others, which matters for the number of parts alone.
  const int64_t step = scenes.num_frames > 1 ? scenes.last_time.num / (scenes.num_frames - 1) : 0;
  const Ratio file_end{scenes.last_time.num + step, scenes.last_time.den};
  for (size_t i = 0; i < starts.size(); ++i) {
    const bool is_last = i + 1 == starts.size();
    const Ratio length = between(starts[i], is_last ? file_end : starts[i + 1]);
    const int64_t parts = std::max<int64_t>(1, int64_t(std::ceil(length.value() / max_seconds - 1e-9)));
    for (int64_t p = 0; p < parts; ++p) {
      const auto at = [&](int64_t part) {
        return Ratio{starts[i].num * parts + length.num * part, length.den * parts};
      };
      Window window{parts == 1 ? starts[i] : at(p), Window{}.end};
      if (p + 1 < parts) window.end = at(p + 1);
      else if (!is_last) window.end = starts[i + 1];
      windows.push_back(window);
    }
  }
  return windows;
}

}  // namespace zoetrope
