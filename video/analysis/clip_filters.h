// Filters on the scores of a clip: all off unless asked for. A clip that one refuses is left out at the
// user's wish, with its score and the limit as the reason. Used by video/ingest.
#pragma once

#include <string>

#include "video/store/manifest_scores.h"

namespace zoetrope {

/// Limits; NaN: off. Units: those of ClipScores.
struct ClipFilters {
  double min_motion = ClipScores::kUnknown;      ///< refuses less, in levels per second
  double drop_static = ClipScores::kUnknown;     ///< refuses this frozen share of time or more
  double drop_black = ClipScores::kUnknown;      ///< refuses this share of black frames or more
  double drop_blurred = ClipScores::kUnknown;    ///< refuses less sharpness
  double drop_letterbox = ClipScores::kUnknown;  ///< refuses this share of bars or more
  double drop_combed = ClipScores::kUnknown;     ///< refuses this share of combed pixels or more
  double min_seconds = ClipScores::kUnknown;     ///< refuses shorter clips; pictures are no clips
};

/// Throws: UsageError naming the option of a limit that can't be.
void check_filters(const ClipFilters& filters);
/// The limits that are on, as a JSON object: part of what decides the bytes of a data set.
std::string filters_text(const ClipFilters& filters);
/// Why the filters refuse a clip; empty when they don't. An unknown score refuses nothing.
/// Units: `seconds` that the clip lasts; NaN: a picture.
std::string filter_reason(const ClipFilters& filters, const ClipScores& scores, double seconds);

}  // namespace zoetrope
