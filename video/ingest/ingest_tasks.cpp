#include "video/ingest/ingest_tasks.h"

#include <algorithm>

namespace zoetrope {
namespace {

double most_bytes(const PlannedClip& clip, const DecodeRules& rules) {
  if (clip.window.is_by_frames()) return double(clip.window.num_frames) * double(rules.size.area) * 3;
  const double seconds = clip.window.end.value() - clip.window.start.value();
  return std::clamp(seconds, 0.0, rules.max_seconds) * rules.fps * double(rules.size.area) * 3;
}

}  // namespace

DecodeRules rules_for(const PlannedSource& source, DecodeRules rules) {
  if (source.rules.area > 0) rules.size.area = source.rules.area;
  if (source.rules.upscale) rules.size.upscale = *source.rules.upscale;
  if (source.rules.most_frames > 0) {
    rules.max_seconds = (double(source.rules.most_frames) - 0.5) / rules.fps;  // between two frames
    rules.length_limit = "the longest of frame_buckets";
  }
  return rules;
}

std::vector<IngestTask> ingest_tasks(const IngestPlan& plan, const DecodeRules& all_rules, size_t decided) {
  std::vector<IngestTask> tasks;
  size_t item = 0;
  for (const PlannedSource& source : plan.sources) {
    const DecodeRules rules = rules_for(source, all_rules);
    for (size_t first = 0; first < source.clips.size();) {
      size_t end = first;
      double bytes = 0;
      do bytes += most_bytes(source.clips[end++], rules);
      while (end < source.clips.size() && bytes + most_bytes(source.clips[end], rules) <= kTaskBytes);
      if (item + (end - first) > decided)
        tasks.push_back({&source, first, end - first, item, decided > item ? decided - item : 0});
      item += end - first;
      first = end;
    }
  }
  return tasks;
}

}  // namespace zoetrope
