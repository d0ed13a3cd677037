// How each clip will be read, for people and scripts: file, part, frames, caption and where it comes from.
// Used by `zoetrope ingest --explain`.
#pragma once

#include <string>

#include "video/sources/ingest_plan.h"

namespace zoetrope {

/// A line per clip, notes and warnings, and the pairing report.
std::string explain_text(const IngestPlan& plan, double fps);
/// The same as one JSON object.
std::string explain_json(const IngestPlan& plan, double fps);

}  // namespace zoetrope
