// Figures of a data set for people and scripts: verdicts, reasons, lengths. Used by `zoetrope ingest` and
// `inspect`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "video/store/manifest.h"

namespace zoetrope {

struct IngestCounts {
  int64_t kept = 0, trimmed = 0, refused = 0, skipped = 0, damaged = 0;  ///< skipped are among refused
  int64_t tokens = 0, frames = 0;
  std::map<std::string, int64_t> refusals;  ///< first words of reasons
};

/// Counts the lines of a manifest by verdict.
IngestCounts count_verdicts(const std::vector<ManifestEntry>& entries);
/// Counts, reasons and a histogram of lengths, as text of several lines.
std::string counts_text(const IngestCounts& counts, const std::vector<ManifestEntry>& entries);
/// The same as one JSON object.
std::string counts_json(const IngestCounts& counts, const std::vector<ManifestEntry>& entries);
/// Frames of kept clips in classes that double: "1", "2-3", "4-7", ...
std::vector<std::pair<std::string, int64_t>> length_histogram(const std::vector<ManifestEntry>& entries);

}  // namespace zoetrope
