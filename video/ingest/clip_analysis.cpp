#include "video/ingest/clip_analysis.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/check.h"
#include "core/content_hash.h"

namespace zoetrope {
namespace {

/// A window that counts frames, in seconds after the file's first frame. Its last frame lasts as long as
/// those of the data set.
void note_counted_window(const std::vector<FrameSource>& shown, double fps, double file_start,
                         ClipAnalysis& analysis) {
  analysis.has_window = true;
  analysis.window_start = shown.front().source_seconds - file_start;
  analysis.window_end = shown.back().source_seconds - file_start + 1 / fps;
}

/// Seconds of the file in this window; NaN for a picture.
double seconds_of(const SourceFacts& facts, const Window& window, const ClipAnalysis& analysis) {
  if (facts.presented < 2) return ClipScores::kUnknown;
  if (window.is_by_frames()) return analysis.window_end - analysis.window_start;
  // The last frame lasts about as long as the others.
  const double frames = double(facts.presented);
  const double file_end = (facts.last_seconds - facts.first_seconds) * frames / (frames - 1);
  return std::min(window.end.value(), file_end) - window.start.value();
}

/// Of the grid and of the payload's own hash, which is known before how long the clip is.
std::string hash_of_tokens(const ReadyClip& clip) {
  const Tensor& tokens = clip.tokens.tokens;
  const std::string payload =
      clip.stream ? clip.stream->hash()
                  : content_hash({static_cast<const char*>(tokens.raw()), size_t(tokens.bytes())});
  const auto& grid = clip.tokens.grid;
  return content_hash(join_message(grid[0], 'x', grid[1], 'x', grid[2], ' ', payload));
}

void refuse_at_wish(ManifestEntry& entry, const std::string& reason) {
  entry.verdict = "refused";
  entry.reason = reason;
  entry.skipped = true;
  entry.analysis.filtered = true;
  entry.facts.used = 0;
}

}  // namespace

std::string analysis_rules_text(const AnalysisRequest& request) {
  return nlohmann::ordered_json{{"version", 2},
                                {"scenes", name_of(request.scenes)},
                                {"filters", nlohmann::ordered_json::parse(filters_text(request.filters))},
                                {"duplicates", name_of(request.duplicates)}}
      .dump();
}

void note_window(const Window& window, bool has_window, ClipAnalysis& analysis) {
  analysis.has_window = has_window && !window.is_by_frames();  // whose times only the decode tells
  if (!analysis.has_window) return;
  analysis.window_start = window.start.value();
  if (window.end < Window{}.end) analysis.window_end = window.end.value();
}

void decide_with_scores(DecodedTokens& decoded, const FrameAnalyzer& frames, const Window& window,
                        const DecodeRules& rules, const ClipFilters& filters, ReadyClip& out) {
  const bool usable = decoded.refused.empty();
  int64_t first = 0, last = -1;
  if (usable) {
    first = decoded.clip.sources.front().source_index;
    last = decoded.clip.sources.back().source_index;
    if (window.is_by_frames())
      note_counted_window(decoded.clip.sources, rules.fps, decoded.facts.first_seconds, out.entry.analysis);
  }
  decide(decoded, rules, out);
  if (!usable) return;
  ClipAnalysis& analysis = out.entry.analysis;
  analysis.has_scores = true;
  analysis.scores = scores_of(frames.records(), first, last);
  analysis.frame_hashes = second_hashes_of(frames.records(), first, last);
  analysis.frames_hash = hash_of_tokens(out);
  const std::string reason =
      filter_reason(filters, analysis.scores, seconds_of(out.entry.facts, window, analysis));
  if (!reason.empty()) refuse_at_wish(out.entry, reason);
}

void decide_duplicate(DuplicateIndex& index, DuplicatePolicy policy, ManifestEntry& entry) {
  if (policy == DuplicatePolicy::kOff) {
    entry.analysis.duplicate = {};
    return;
  }
  index.decide(entry);
  const DuplicateOf& duplicate = entry.analysis.duplicate;
  if (policy == DuplicatePolicy::kReport || duplicate.name.empty()) return;
  const char* what = duplicate.kind == "file"     ? "the same bytes as "
                     : duplicate.kind == "frames" ? "the same frames as "
                                                  : "nearly the same pictures as ";
  refuse_at_wish(entry, join_message("duplicate: ", what, duplicate.name, ", ", duplicate.matched,
                                     " of its seconds match (--duplicates drop)"));
}

}  // namespace zoetrope
