// The options of `zoetrope ingest` that judge the pictures themselves: scenes, filters, duplicates.
#pragma once

#include <limits>
#include <string>

#include "video/ingest/analysis_request.h"

namespace zoetrope {

/// As the user writes them; 0 means a filter is off. Units: those of ClipScores.
struct AnalysisFlags {
  std::string scenes = "none", duplicates = "report";
  double min_seconds = 0, min_motion = 0, drop_static = 0, drop_black = 0, drop_blurred = 0;
  double drop_letterbox = 0, drop_combed = 0;

  void visit(auto&& field) {
    field("scenes", scenes,
          "cut each file into its scenes, clips NAME#0, NAME#1, ...: 'content' at changes of 27 and more, "
          "'adaptive' where a change stands out from those around it; decodes each file once more; a scene "
          "longer than max-seconds becomes equal parts",
          std::vector<std::string>{"none", "content", "adaptive"});
    field("min-seconds", min_seconds, "refuse shorter clips; 0: none, but scenes below 0.6 s");
    field("min-motion", min_motion,
          "refuse clips whose pictures change by less than this many levels of 255 per second; 0: none");
    field("drop-static", drop_static, "refuse clips frozen for this share of their time, 0 to 1; 0: none");
    field("drop-black", drop_black, "refuse clips with this share of black frames, 0 to 1; 0: none");
    field("drop-blurred", drop_blurred,
          "refuse clips whose sharpness, the variance of the Laplacian at 256 pixels, is less; 0: none");
    field("drop-letterbox", drop_letterbox,
          "refuse clips with this share of the picture in dark bars, 0 to 1; 0: none");
    field("drop-combed", drop_combed,
          "refuse clips with this share of pixels in lines of two fields, 0 to 1; 0: none");
    field("duplicates", duplicates,
          "clips that repeat an earlier one, by bytes, frames or looks: 'report' names it in the manifest, "
          "'drop' refuses the later one",
          std::vector<std::string>{"report", "drop", "off"});
  }

  /// Throws: UsageError.
  AnalysisRequest request() const {
    const auto limit = [](double value) {
      return value == 0 ? std::numeric_limits<double>::quiet_NaN() : value;
    };
    AnalysisRequest out;
    out.scenes = scene_detector_of(scenes);
    out.duplicates = duplicate_policy_of(duplicates);
    out.filters = {limit(min_motion),     limit(drop_static), limit(drop_black), limit(drop_blurred),
                   limit(drop_letterbox), limit(drop_combed), limit(min_seconds)};
    if (out.scenes != SceneDetector::kNone && min_seconds == 0) out.filters.min_seconds = 0.6;
    return out;
  }
};

}  // namespace zoetrope
