// Tables of the page of `zoetrope ingest`: reasons, changed and refused clips, duplicates, all clips.
#include <algorithm>
#include <map>

#include "core/check.h"
#include "tools/html_page.h"
#include "tools/ingest_report.h"
#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

HtmlCell number(int64_t value) { return {value < 0 ? "-" : with_commas(value), false, true}; }
HtmlCell long_text(const std::string& text) { return {escape_html(printable_name(text)), true, false, true}; }
HtmlCell clipped(const std::string& text, size_t most) {
  return {clipped_html(text, most), true, false, true};
}

std::string only_first(size_t shown, size_t all, const char* what) {
  if (shown >= all) return "";
  return "<p class=\"soft small\">The first " + with_commas(int64_t(shown)) + " of " +
         with_commas(int64_t(all)) + " " + what + "; manifest.jsonl has all.</p>\n";
}

std::string file_of(const std::string& clip) {
  const size_t mark = clip.rfind('#');
  const bool is_part = mark != std::string::npos && mark + 1 < clip.size() &&
                       clip.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  return is_part ? clip.substr(0, mark) : clip;
}

/// Names of a group, the first few of them.
std::string name_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? text + " and " + with_commas(int64_t(names.size() - kShown)) + " more"
                               : text;
}

using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Keys with several names, most names first.
Groups several(const std::map<std::string, std::vector<std::string>>& by_key) {
  Groups groups;
  for (const auto& [key, names] : by_key)
    if (names.size() > 1) groups.emplace_back(key, names);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return groups;
}

std::string group_table(const char* what, const Groups& groups, size_t most, bool show_key) {
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < std::min(most, groups.size()); ++i) {
    rows.push_back({number(int64_t(groups[i].second.size()))});
    if (show_key) rows.back().push_back(clipped(groups[i].first, 160));
    rows.back().push_back(long_text(name_list(groups[i].second)));
  }
  std::vector<std::string> heading{"clips"};
  if (show_key) heading.push_back("caption");
  heading.push_back("names");
  return html_table(heading, rows) + only_first(rows.size(), groups.size(), what);
}

std::string notes_html(const IngestReport& report) {
  int64_t empty = 0;
  for (const DatasetSample& sample : report.samples) empty += sample.caption.empty();
  std::string html = "<h2>Captions</h2>\n<ul><li>" + with_commas(int64_t(report.samples.size()) - empty) +
                     " clips have a caption</li>\n";
  if (empty > 0) html += "<li>" + with_commas(empty) + " are kept with an empty caption</li>\n";
  for (const ReasonCount& count : report.counts.refusals)
    if (count.code.find("caption") != std::string::npos)
      html += "<li>" + with_commas(count.clips) + " refused: " + escape_html(count.kind) + "</li>\n";
  for (const std::string& note : report.notes) html += "<li>" + escape_html(printable_name(note)) + "</li>\n";
  return html + "</ul>\n";
}

std::vector<HtmlCell> problem_row(const ManifestEntry& entry) {
  std::string codes;
  for (const Reason& reason : reasons_of(entry)) codes += (codes.empty() ? "" : ", ") + reason.code;
  const SourceFacts& facts = entry.facts;
  const auto count = [&](int64_t value) { return number(entry.has_facts ? value : -1); };
  return {long_text(entry.name),   {entry.skipped ? "skipped" : entry.verdict},
          long_text(codes),        long_text(source_arithmetic(entry) + entry.reason),
          count(facts.declared),   count(facts.packets),
          count(facts.decoded),    count(facts.damaged),
          count(facts.presented),  count(facts.used),
          number(entry.num_frames)};
}

}  // namespace

std::string clipped_html(const std::string& text, size_t most) {
  const std::string all = printable_name(text);
  if (all.size() <= most) return escape_html(all);
  size_t end = most;
  while (end > 0 && (uint8_t(all[end]) & 0xc0) == 0x80) --end;  // not within a UTF-8 character
  return "<span title=\"" + escape_html(all) + "\">" + escape_html(all.substr(0, end)) + "...</span>";
}

std::string report_reasons_html(const IngestReport& report) {
  const IngestCounts& counts = report.counts;
  if (counts.cuts.empty() && counts.refusals.empty()) return "<p>Every clip was kept whole.</p>\n";
  std::vector<std::vector<HtmlCell>> rows;
  const auto add = [&](const char* verdict, const std::vector<ReasonCount>& reasons) {
    for (const ReasonCount& reason : reasons)
      rows.push_back({{verdict},
                      number(reason.clips),
                      long_text(reason.kind),
                      {reason.code},
                      long_text(reason.clip + ": " + reason.text)});
  };
  add("refused", counts.refusals);
  add("trimmed", counts.cuts);
  return "<h2>Why</h2>\n" + html_table({"verdict", "clips", "reason", "code", "such as"}, rows) +
         "<p class=\"soft small\">A clip that was trimmed for several reasons counts for each.</p>\n";
}

std::string report_problems_html(const IngestReport& report, int64_t most) {
  std::vector<const ManifestEntry*> listed;
  for (const ManifestEntry& entry : report.entries)
    if (entry.refused() || entry.found_damage) listed.push_back(&entry);
  const size_t num_bad = listed.size();
  for (const ManifestEntry& entry : report.entries)
    if (entry.verdict == "trimmed" && !entry.found_damage) listed.push_back(&entry);
  if (listed.empty()) return "";
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < std::min(listed.size(), size_t(most)); ++i) rows.push_back(problem_row(*listed[i]));
  return "<h2>Refused, damaged and trimmed clips</h2>\n<p class=\"soft small\">" +
         with_commas(int64_t(num_bad)) + " refused or damaged ones first, then " +
         with_commas(int64_t(listed.size() - num_bad)) +
         " that were trimmed. Frames: as the header declares, packets, decoded, damaged, presented, "
         "different ones used, and frames of the clip.</p>\n" +
         html_table({"clip", "verdict", "codes", "reason", "declared", "packets", "decoded", "damaged",
                     "presented", "used", "frames"},
                    rows) +
         only_first(rows.size(), listed.size(), "clips");
}

std::string report_duplicates_html(const IngestReport& report, int64_t most) {
  std::map<std::string, std::vector<std::string>> by_caption, by_content;
  for (const DatasetSample& sample : report.samples)
    if (!sample.caption.empty()) by_caption[sample.caption].push_back(sample.name);
  for (const ManifestEntry& entry : report.entries) {
    if (entry.source_hash.empty()) continue;
    auto& names = by_content[entry.source_hash];
    if (names.empty() || names.back() != file_of(entry.name)) names.push_back(file_of(entry.name));
  }
  std::string html = notes_html(report);
  const Groups captions = several(by_caption), contents = several(by_content);
  if (!captions.empty())
    html += "<h3>Captions of several clips</h3>\n" + group_table("captions", captions, size_t(most), true);
  if (!contents.empty())
    html += "<h2>Files with the same bytes</h2>\n" + group_table("groups", contents, size_t(most), false);
  return html;
}

std::string report_clips_html(const IngestReport& report, int64_t most) {
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < report.entries.size() && rows.size() < size_t(most); ++i) {
    const ManifestEntry& entry = report.entries[i];
    if (entry.refused()) continue;
    const DatasetSample& sample = report.samples[size_t(report.sample_of[i])];
    const SourceFacts& facts = entry.facts;
    const std::string size = join_message(sample.width, "x", sample.height);
    const std::string source =
        entry.has_facts
            ? join_message(facts.codec, " ", facts.shown_width, "x", facts.shown_height,
                           facts.rotation != 0 ? join_message(", turned by ", facts.rotation) : "",
                           facts.interlaced > 0 ? ", interlaced" : "")
            : "-";
    rows.push_back({long_text(entry.name),
                    {entry.verdict},
                    number(sample.num_frames),
                    {format_text("%.2f", double(sample.num_frames) / sample.fps), false, true},
                    {size, false, true},
                    number(sample.num_tokens),
                    {source},
                    clipped(sample.caption, 90)});
  }
  if (rows.empty()) return "";
  return "<h2>Clips</h2>\n<details><summary>" + with_commas(int64_t(rows.size())) +
         " clips, one a row</summary>\n" +
         html_table({"clip", "verdict", "frames", "s", "size", "tokens", "source", "caption"}, rows) +
         only_first(rows.size(), report.samples.size(), "clips") + "</details>\n";
}

}  // namespace zoetrope
