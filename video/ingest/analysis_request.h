// What of the pictures themselves decides which clips a data set gets: scene cuts, filters, duplicates. Part
// of IngestRequest.
#pragma once

#include <string>

#include "video/analysis/clip_filters.h"
#include "video/analysis/duplicates.h"
#include "video/analysis/scenes.h"

namespace zoetrope {

struct AnalysisRequest {
  SceneDetector scenes = SceneDetector::kNone;
  ClipFilters filters;
  DuplicatePolicy duplicates = DuplicatePolicy::kReport;
};

/// All of it as a JSON object, for the rules that a data set is made by.
std::string analysis_rules_text(const AnalysisRequest& request);

}  // namespace zoetrope
