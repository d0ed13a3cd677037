// What a worker does at a time: one pass over a file for some of its clips. A file of many long clips takes
// several passes, so that memory stays bounded however long it is. Used by video/ingest.
#pragma once

#include <vector>

#include "video/sources/ingest_plan.h"

namespace zoetrope {

/// Clips [first_clip, first_clip + num_clips) of a file.
struct IngestTask {
  const PlannedSource* source = nullptr;
  size_t first_clip = 0, num_clips = 0;
  size_t first_item = 0;   ///< number of its first clip in the inventory
  size_t num_decided = 0;  ///< of its clips; decoded once more, since what is found depends on all windows
};

/// Bytes of RGB that the clips of one task may have together; a single clip may have more.
constexpr double kTaskBytes = 256 << 20;

/// The rules for one file: the TOML of another trainer decides for its folders, the rest is by the command.
DecodeRules rules_for(const PlannedSource& source, DecodeRules rules);

/// Everything after the first `decided` clips, in order. How clips are grouped depends on the plan and the
/// rules alone.
std::vector<IngestTask> ingest_tasks(const IngestPlan& plan, const DecodeRules& rules, size_t decided);

}  // namespace zoetrope
