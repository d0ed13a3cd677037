// A decoded clip with its scores and hashes: verdict, filters, and which earlier clip it repeats. Used by
// video/ingest.
#pragma once

#include "video/analysis/frame_analyzer.h"
#include "video/ingest/analysis_request.h"
#include "video/ingest/ready_clip.h"

namespace zoetrope {

/// `decide`, then scores, hashes and filters. `frames` saw the decode that `decoded` comes from; `window` is
/// the clip's part of its file.
void decide_with_scores(DecodedTokens& decoded, const FrameAnalyzer& frames, const Window& window,
                        const DecodeRules& rules, const ClipFilters& filters, ReadyClip& out);

/// Notes the part of the file that a clip is.
void note_window(const Window& window, bool has_window, ClipAnalysis& analysis);

/// In path order, by the one writer: names the clip that this one repeats, and refuses it when that is
/// wished.
void decide_duplicate(DuplicateIndex& index, DuplicatePolicy policy, ManifestEntry& entry);

}  // namespace zoetrope
