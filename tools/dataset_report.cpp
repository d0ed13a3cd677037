#include "tools/dataset_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int64_t kBarWidth = 40;

/// A reason's kind: its text up to the first detail.
std::string kind_of(const std::string& reason) { return reason.substr(0, reason.find_first_of(":;(")); }

}  // namespace

IngestCounts count_verdicts(const std::vector<ManifestEntry>& entries) {
  IngestCounts counts;
  for (const ManifestEntry& entry : entries) {
    counts.kept += entry.verdict == "kept";
    counts.trimmed += entry.verdict == "trimmed";
    counts.refused += entry.refused();
    counts.skipped += entry.skipped;
    counts.damaged += entry.found_damage;
    counts.tokens += entry.num_tokens;
    counts.frames += entry.num_frames;
    if (entry.refused()) ++counts.refusals[kind_of(entry.reason)];
  }
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

std::string counts_text(const IngestCounts& counts, const std::vector<ManifestEntry>& entries) {
  std::string out = join_message(counts.kept + counts.trimmed, " clips, ", counts.frames, " frames, ",
                                 counts.tokens, " tokens: ", counts.kept, " kept whole, ", counts.trimmed,
                                 " trimmed, ", counts.refused, " refused\n");
  for (const auto& [kind, count] : counts.refusals)
    out += join_message("  refused ", count, ": ", kind, "\n");
  const auto classes = length_histogram(entries);
  int64_t most = 1;
  size_t widest = 0;
  for (const auto& [name, count] : classes) {
    most = std::max(most, count);
    widest = std::max(widest, name.size());
  }
  if (!classes.empty()) out += "frames per clip\n";
  for (const auto& [name, count] : classes)
    out += join_message("  ", std::string(widest - name.size(), ' '), name, " ",
                        std::string(size_t((count * kBarWidth + most - 1) / most), '#'), " ", count, "\n");
  return out;
}

std::string counts_json(const IngestCounts& counts, const std::vector<ManifestEntry>& entries) {
  nlohmann::ordered_json json = {{"kept", counts.kept},       {"trimmed", counts.trimmed},
                                 {"refused", counts.refused}, {"skipped", counts.skipped},
                                 {"damaged", counts.damaged}, {"frames", counts.frames},
                                 {"tokens", counts.tokens},   {"refusals", counts.refusals}};
  for (const auto& [name, count] : length_histogram(entries)) json["frames_per_clip"][name] = count;
  return json.dump();
}

}  // namespace zoetrope
