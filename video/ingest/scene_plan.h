// Cuts the files of an ingest into their scenes before anything is written: from then on a scene is a clip
// with a window, as if a table had named it. What was found is kept in DATASET/scenes.jsonl, by the file's
// content, so that a restart or a second run doesn't look again. Used by video/ingest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "video/analysis/scenes.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {

/// How an ingest cuts its files.
struct ScenePlan {
  std::string dataset;
  SceneDetector detector = SceneDetector::kNone;
  DecodeRules decode;
  int64_t workers = 1;
};

/// Replaces every whole-file clip by its scenes, NAME#0, NAME#1, ... with the caption of the file; a file of
/// one scene keeps its name, and clips that a table cut are left alone. Each file is decoded once for this.
/// Throws: Error when DATASET can't be written.
void cut_into_scenes(const ScenePlan& rules, IngestPlan& plan);

/// Where the cuts that were found lie.
std::string scenes_path(const std::string& dataset);
/// One line of it.
std::string scenes_line(const std::string& name, const std::string& content_key, const FileScenes& scenes);
struct SceneLine {
  std::string key;  ///< the file's content and the detector
  FileScenes scenes;
};
/// Throws: Error for text that is no line of it.
SceneLine parse_scenes_line(const std::string& line);

}  // namespace zoetrope
