#include "tools/ingest_report.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "tools/html_page.h"
#include "tools/svg.h"
#include "tools/text_format.h"
#include "tools/version.h"
#include "video/store/dataset_writer.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The last part of the folder's path, so that the page doesn't depend on where the data set lies.
std::string folder_name(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return printable_name(path.filename());
}

/// Numbers in the object "scores" of a manifest line, if it has one; objects in it are joined by a blank.
void collect_scores(const Json& json, const std::string& prefix, std::map<std::string, double>& scores) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) scores[prefix + key] = value.get<double>();
    else if (value.is_object()) collect_scores(value, prefix + key + " ", scores);
  }
}

std::vector<std::map<std::string, double>> read_scores(const std::string& manifest) {
  std::vector<std::map<std::string, double>> all;
  std::istringstream lines(read_file(manifest));
  for (std::string line; std::getline(lines, line);) {
    all.emplace_back();
    if (line.find("\"scores\"") == std::string::npos) continue;
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("scores")) collect_scores(json["scores"], "", all.back());
  }
  return all;
}

/// "area 6144, upscale false"; an empty text is an option that wasn't used, such as "reading".
std::string option_text(const Json& options, const std::string& prefix = "") {
  std::string text;
  for (const auto& [key, value] : options.items()) {
    if (value.is_string() && value.get<std::string>().empty()) continue;
    const std::string name = prefix + key;
    const std::string part = value.is_object()
                                 ? option_text(value, name + ".")
                                 : name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

/// Kept, trimmed and refused as one bar.
std::string verdict_bar(const IngestCounts& counts) {
  const double all = double(std::max<int64_t>(1, counts.kept + counts.trimmed + counts.refused));
  std::string svg = "<svg class=\"parts\" viewBox=\"0 0 1000 14\" preserveAspectRatio=\"none\" role=\"img\">";
  double left = 0;
  const auto part = [&](const char* style, int64_t clips, const char* what) {
    const double wide = 1000 * double(clips) / all;
    if (clips > 0)
      svg += format_text(
          "<rect class=\"%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"14\"><title>%s: %s of %s clips, %s"
          "</title></rect>",
          style, left, wide, what, with_commas(clips).c_str(), with_commas(int64_t(all)).c_str(),
          percent(double(clips) / all).c_str());
    left += wide;
  };
  part("s2", counts.kept, "kept whole");
  part("s1", counts.trimmed, "trimmed");
  part("s4", counts.refused, "refused");
  return svg + "</svg>\n";
}

std::string sources_text(const IngestReport& report) {
  std::map<std::string, int64_t> bytes;  // clips of one file have the same hash
  for (const ManifestEntry& entry : report.entries)
    if (entry.source_bytes >= 0) bytes[entry.source_hash] = entry.source_bytes;
  int64_t sum = 0;
  for (const auto& [hash, size] : bytes) sum += size;
  return byte_text(sum) + " in " + with_commas(int64_t(bytes.size())) + " different files";
}

std::string overview_html(const IngestReport& report) {
  const IngestCounts& counts = report.counts;
  std::string html =
      "<div class=\"card\">" + verdict_bar(counts) + "<p>" +
      html_key("s2", with_commas(counts.kept) + " kept whole") +
      html_key("s1", with_commas(counts.trimmed) + " trimmed") +
      html_key("s4",
               with_commas(counts.refused) + " refused" +
                   (counts.skipped > 0 ? ", " + with_commas(counts.skipped) + " of them as asked for" : "")) +
      "</p><dl>";
  const auto row = [&](const char* name, const std::string& text) {
    html += std::string("<dt>") + name + "</dt><dd>" + escape_html(text) + "</dd>\n";
  };
  row("video", with_commas(counts.frames) + format_text(" frames at %.6g fps = %.1f s", report.fps,
                                                        double(counts.frames) / report.fps));
  row("tokens", with_commas(counts.tokens) + format_text(" of %lld frames x %lld rows x %lld columns",
                                                         static_cast<long long>(report.patch.t),
                                                         static_cast<long long>(report.patch.h),
                                                         static_cast<long long>(report.patch.w)));
  row("sources", sources_text(report));
  row("shards", with_commas(report.num_shards) + ", " + byte_text(report.shard_bytes));
  row("options", report.options);
  row("fingerprint", report.fingerprint);
  return html + "</dl></div>\n";
}

}  // namespace

IngestReport read_ingest_report(const std::string& folder, const Dataset& dataset,
                                std::vector<std::string> notes) {
  IngestReport report;
  const std::string manifest = folder + "/manifest.jsonl";
  report.name = folder_name(folder);
  report.fingerprint = dataset.fingerprint();
  report.patch = dataset.patch();
  report.fps = dataset.fps();
  report.entries = read_manifest(manifest);
  report.scores = read_scores(manifest);
  report.scores.resize(report.entries.size());
  report.samples = dataset.samples();
  std::map<std::string, int64_t> by_name;
  for (size_t i = 0; i < report.samples.size(); ++i) by_name[report.samples[i].name] = int64_t(i);
  for (const ManifestEntry& entry : report.entries)
    report.sample_of.push_back(entry.refused() ? -1 : by_name.at(entry.name));
  report.counts = count_verdicts(report.entries);
  const DatasetSummary summary = read_dataset_json(folder);
  const Json rules = Json::parse(summary.rules, nullptr, false);
  if (rules.is_object() && rules.contains("options")) report.options = option_text(rules["options"]);
  report.num_shards = int64_t(summary.shards.size());
  for (const ShardRecord& shard : summary.shards) report.shard_bytes += shard.bytes;
  report.notes = std::move(notes);
  return report;
}

std::string ingest_report_html(const IngestReport& report, const Dataset& dataset,
                               const ReportLimits& limits) {
  const IngestCounts& counts = report.counts;
  std::vector<double> brightness;
  const std::string sheets = report_sheets_html(report, dataset, limits, brightness);
  std::string body = "<h1>" + escape_html(report.name) + ": " + with_commas(counts.kept + counts.trimmed) +
                     " of " + with_commas(int64_t(report.entries.size())) +
                     " clips can be used</h1>\n<p class=\"soft\">zoetrope ingest " + kVersion + "</p>\n";
  body += overview_html(report);
  body += report_reasons_html(report);
  body += report_charts_html(report, brightness);
  body += sheets;
  body += report_problems_html(report, limits.problem_rows);
  body += report_duplicates_html(report, limits.duplicate_rows);
  body += report_clips_html(report, limits.clip_rows);
  return html_page("zoetrope ingest: " + report.name, body);
}

void check_report_path(const std::string& path, const std::vector<std::string>& folders) {
  if (path.empty()) return;
  for (const std::string& folder : folders)
    if (lies_in(path, folder))
      throw UsageError(join_message("--html '", path, "' lies in '", folder,
                                    "', whose files are read and compared; give it another place"));
  check_writable(path);
}

void write_ingest_report(const std::string& path, const std::string& folder, std::vector<std::string> notes) {
  const Dataset dataset(folder);
  const IngestReport report = read_ingest_report(folder, dataset, std::move(notes));
  write_file_atomically(path, ingest_report_html(report, dataset));
}

}  // namespace zoetrope
