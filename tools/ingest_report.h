// The page of `zoetrope ingest --html` and `inspect --html`: what was kept, trimmed and refused and why,
// histograms, contact sheets of what is trained on. A function of the data set alone: no clock, no path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/dataset_report.h"
#include "video/store/dataset.h"

namespace zoetrope {

/// All that the page shows.
struct IngestReport {
  std::string name;  ///< of the data set's folder, without its path
  std::string fingerprint;
  std::string options;  ///< what it was made by, as JSON
  Patch patch;
  double fps = 0;
  std::vector<ManifestEntry> entries;
  std::vector<std::map<std::string, double>> scores;  ///< of each entry: "motion", ...; often empty
  std::vector<DatasetSample> samples;                 ///< kept clips in order
  std::vector<int64_t> sample_of;                     ///< of each entry; -1: refused
  IngestCounts counts;
  int64_t num_shards = 0, shard_bytes = 0;
  std::vector<std::string> notes;  ///< what an ingest said of pairing; a finished data set doesn't hold it
};

/// Reads everything but pictures.
IngestReport read_ingest_report(const std::string& folder, const Dataset& dataset,
                                std::vector<std::string> notes);

/// How much of it is drawn; what is left out is said.
struct ReportLimits {
  int64_t strips = 240;             ///< clips with pictures, evenly spaced
  int64_t picture_bytes = 4 << 20;  ///< of all pictures as text
  int64_t problem_rows = 500, clip_rows = 2000, duplicate_rows = 100;
};

/// The page. Reads a few frames of the clips that it shows.
std::string ingest_report_html(const IngestReport& report, const Dataset& dataset,
                               const ReportLimits& limits = {});

/// Throws: UsageError when `path`, which may be empty, lies in one of the folders; Error when it can't be
/// written.
void check_report_path(const std::string& path, const std::vector<std::string>& folders);
/// Writes the page of a finished data set.
void write_ingest_report(const std::string& path, const std::string& folder,
                         std::vector<std::string> notes = {});

/// Parts of the page, from files of their own.
std::string report_charts_html(const IngestReport& report, const std::vector<double>& brightness);
std::string report_reasons_html(const IngestReport& report);
std::string report_problems_html(const IngestReport& report, int64_t most);
std::string report_duplicates_html(const IngestReport& report, int64_t most);
std::string report_clips_html(const IngestReport& report, int64_t most);
/// Pictures; `brightness` gets the mean of each clip that is shown, in percent.
std::string report_sheets_html(const IngestReport& report, const Dataset& dataset, const ReportLimits& limits,
                               std::vector<double>& brightness);

/// A text for a cell, shortened; the whole of it as a tooltip.
std::string clipped_html(const std::string& text, size_t most);

}  // namespace zoetrope
