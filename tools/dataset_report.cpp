#include "tools/dataset_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr int64_t kBarWidth = 40;

void add_reason(std::vector<ReasonCount>& counts, const ManifestEntry& entry, const Reason& reason) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const ReasonCount& count) { return count.code == reason.code; });
  if (found != counts.end()) {
    ++found->clips;
    return;
  }
  counts.push_back({reason.code, reason.kind, 1, entry.name,
                    (reason.code == "whole_rows" ? source_arithmetic(entry) : "") + reason.text});
}

void most_first(std::vector<ReasonCount>& counts) {
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.clips > b.clips; });
}

std::string reasons_text(const char* verdict, int64_t clips, const std::vector<ReasonCount>& counts) {
  if (clips == 0) return "";
  std::string out = join_message(verdict, " ", with_commas(clips), "\n");
  size_t widest = 0;
  for (const ReasonCount& count : counts) widest = std::max(widest, with_commas(count.clips).size());
  for (const ReasonCount& count : counts) {
    const std::string number = with_commas(count.clips);
    out += join_message("  ", std::string(widest - number.size(), ' '), number, "  ", count.kind, "\n  ",
                        std::string(widest, ' '), "  such as ", count.clip, ": ", count.text, "\n");
  }
  return out;
}

std::string histogram_text(const std::vector<ManifestEntry>& entries) {
  const auto classes = length_histogram(entries);
  if (classes.empty()) return "";
  int64_t most = 1;
  size_t widest = 0;
  for (const auto& [name, count] : classes) {
    most = std::max(most, count);
    widest = std::max(widest, name.size());
  }
  std::string out = "frames per clip\n";
  for (const auto& [name, count] : classes)
    out += join_message("  ", std::string(widest - name.size(), ' '), name, " ",
                        std::string(size_t((count * kBarWidth + most - 1) / most), '#'), " ", count, "\n");
  return out;
}

nlohmann::ordered_json reasons_json(const std::vector<ReasonCount>& counts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ReasonCount& count : counts)
    list.push_back({{"code", count.code},
                    {"kind", count.kind},
                    {"clips", count.clips},
                    {"such_as", {{"name", count.clip}, {"reason", count.text}}}});
  return list;
}

}  // namespace

IngestCounts count_verdicts(const std::vector<ManifestEntry>& entries) {
  IngestCounts counts;
  for (const ManifestEntry& entry : entries) {
    counts.kept += entry.verdict == "kept";
    counts.trimmed += entry.verdict == "trimmed";
    counts.refused += entry.refused();
    counts.undecided += entry.undecided();
    counts.skipped += entry.skipped;
    counts.damaged += entry.found_damage;
    counts.filtered += entry.analysis.filtered;
    counts.duplicates += !entry.analysis.duplicate.name.empty();
    counts.tokens += entry.num_tokens;
    counts.frames += entry.num_frames;
    for (const Reason& reason : reasons_of(entry))
      add_reason(entry.has_sample() ? counts.cuts : counts.refusals, entry, reason);
  }
  most_first(counts.refusals);
  most_first(counts.cuts);
  return counts;
}

std::vector<std::pair<std::string, int64_t>> length_histogram(const std::vector<ManifestEntry>& entries) {
  std::vector<std::pair<std::string, int64_t>> classes;
  for (const ManifestEntry& entry : entries) {
    if (!entry.has_sample()) continue;
    size_t index = 0;
    while ((entry.num_frames >> (index + 1)) > 0) ++index;
    while (classes.size() <= index) {
      const int64_t first = int64_t(1) << classes.size(), last = 2 * first - 1;
      classes.emplace_back(first == last ? join_message(first) : join_message(first, "-", last), 0);
    }
    ++classes[index].second;
  }
  return classes;
}

std::string counts_text(const IngestCounts& counts, const std::vector<ManifestEntry>& entries, double fps) {
  const int64_t usable = counts.kept + counts.trimmed;
  std::string out =
      join_message(with_commas(usable), " of ", with_commas(int64_t(entries.size())),
                   " clips can be used: ", with_commas(counts.kept), " kept whole, ",
                   with_commas(counts.trimmed), " trimmed; ", with_commas(counts.refused), " refused",
                   counts.undecided > 0 ? ", " + with_commas(counts.undecided) + " undecided" : "", "\n");
  if (usable > 0)
    out += join_message(with_commas(counts.frames), " frames at ", fps,
                        " fps = ", format_text("%.1f", double(counts.frames) / fps), " s, ",
                        with_commas(counts.tokens), " tokens\n");
  out += reasons_text("trimmed", counts.trimmed, counts.cuts);
  out += reasons_text("refused", counts.refused + counts.undecided, counts.refusals);
  if (counts.filtered > 0) out += join_message("  of these ", counts.filtered, " filtered, as asked for\n");
  if (counts.duplicates > 0)
    out += join_message("  ", counts.duplicates, " clips repeat an earlier one; manifest.jsonl says which\n");
  return out + histogram_text(entries);
}

std::string counts_json(const IngestCounts& counts, const std::vector<ManifestEntry>& entries,
                        const std::string& pairing) {
  nlohmann::ordered_json json = {{"kept", counts.kept},         {"trimmed", counts.trimmed},
                                 {"refused", counts.refused},   {"skipped", counts.skipped},
                                 {"damaged", counts.damaged},   {"frames", counts.frames},
                                 {"tokens", counts.tokens},     {"undecided", counts.undecided},
                                 {"filtered", counts.filtered}, {"duplicates", counts.duplicates}};
  json["reasons"] = {{"refused", reasons_json(counts.refusals)}, {"trimmed", reasons_json(counts.cuts)}};
  json["refused_clips"] = nlohmann::ordered_json::array();
  for (const ManifestEntry& entry : entries)
    for (const Reason& reason : reasons_of(entry))
      if (!entry.has_sample())
        json["refused_clips"].push_back({{"name", entry.name},
                                         {"code", reason.code},
                                         {"skipped", entry.skipped},
                                         {"reason", reason.text}});
  for (const auto& [name, count] : length_histogram(entries)) json["frames_per_clip"][name] = count;
  if (!pairing.empty()) json["pairing"] = nlohmann::ordered_json::parse(pairing);
  return json.dump();
}

void require_usable(const IngestCounts& counts, const std::string& dataset) {
  if (counts.kept + counts.trimmed == 0)
    throw Error(join_message("nothing usable: all ", counts.refused, " clips were refused; '", dataset,
                             "/manifest.jsonl' says why"));
}

int exit_code_of(const IngestCounts& counts) {
  return counts.refused > counts.skipped || counts.damaged > 0 ? 1 : 0;
}

}  // namespace zoetrope
