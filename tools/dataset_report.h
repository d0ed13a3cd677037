// Figures of a data set for people and scripts: verdicts, reasons, lengths. Used by `zoetrope ingest` and
// `inspect`.
#pragma once

#include <string>
#include <vector>

#include "tools/reason_codes.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// Clips that were refused or trimmed for one kind of reason.
struct ReasonCount {
  std::string code, kind;
  int64_t clips = 0;
  std::string clip, text;  ///< the first of them, and what its line says, with the arithmetic
};

struct IngestCounts {
  int64_t kept = 0, trimmed = 0, refused = 0, skipped = 0, damaged = 0;  ///< skipped are among refused
  int64_t undecided = 0;   ///< only while an ingest is unfinished
  int64_t filtered = 0;    ///< skipped by a filter, or as duplicates
  int64_t duplicates = 0;  ///< that repeat an earlier clip, refused or not
  int64_t tokens = 0, frames = 0;
  std::vector<ReasonCount> refusals, cuts;  ///< most clips first; a clip may have several cuts
};

/// Counts the lines of a manifest by verdict and reason.
IngestCounts count_verdicts(const std::vector<ManifestEntry>& entries);
/// Counts, reasons and a histogram of lengths, as text of several lines. `fps`: of the data set.
std::string counts_text(const IngestCounts& counts, const std::vector<ManifestEntry>& entries, double fps);
/// The same as one JSON object, with a list of all refused clips; `pairing`: the JSON of how captions were
/// found, or empty.
std::string counts_json(const IngestCounts& counts, const std::vector<ManifestEntry>& entries,
                        const std::string& pairing = "");
/// Frames of kept clips in classes that double: "1", "2-3", "4-7", ...
std::vector<std::pair<std::string, int64_t>> length_histogram(const std::vector<ManifestEntry>& entries);
/// Throws: Error when no clip of a data set can be used.
void require_usable(const IngestCounts& counts, const std::string& dataset);
/// 1 when something was refused other than at the user's wish, or is damaged; else 0.
int exit_code_of(const IngestCounts& counts);

}  // namespace zoetrope
