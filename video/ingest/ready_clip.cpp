#include "video/ingest/ready_clip.h"

#include <cmath>
#include <set>
#include <vector>

#include "core/check.h"

namespace zoetrope {

void require_whole_window(const Window& window, DecodedClip& decoded) {
  const int64_t frames = decoded.clip.num_frames;
  if (!window.is_by_frames() || !decoded.refused.empty() || frames == window.num_frames) return;
  decoded.refused = join_message("only ", frames, " sound frames of the ", window.num_frames, " from frame ",
                                 window.first_frame, " on");
  for (const std::string& cut : decoded.cuts) decoded.refused += "; " + cut;
  decoded.clip = {};
}

void decide(DecodedTokens& decoded, const DecodeRules& rules, ReadyClip& out) {
  if (decoded.undecided) {
    out.entry.verdict = "undecided";
    out.entry.reason = decoded.refused;
    return;
  }
  out.entry.facts = decoded.facts;
  out.entry.has_facts = !decoded.facts.container.empty();
  out.entry.found_damage = decoded.found_damage;
  if (!decoded.refused.empty()) {
    out.entry.verdict = "refused";
    out.entry.reason = printable_name(decoded.refused);  // it may quote bytes of the file
    return;
  }
  Clip& clip = decoded.clip;
  const Patch& patch = rules.size.patch;
  const int64_t whole = whole_frames(clip.num_frames, patch);
  std::vector<std::string> cuts = std::move(decoded.cuts);
  if (whole < clip.num_frames)
    cuts.push_back(join_message(clip.num_frames, " frames at ", clip.fps, " fps cut to ", whole, " = 1 + ",
                                patch.t, " x ", (whole - 1) / patch.t));
  if (decoded.facts.crop_loss > 0)
    cuts.push_back(join_message("cropped to whole patches: ", clip.width, "x", clip.height, ", ",
                                std::round(decoded.facts.crop_loss * 1000) / 10, " % of the picture lost"));
  clip.num_frames = whole;
  clip.sources.resize(size_t(whole));
  std::set<int64_t> used;
  for (const FrameSource& source : clip.sources) used.insert(source.source_index);
  out.entry.facts.used = int64_t(used.size());
  out.entry.verdict = cuts.empty() ? "kept" : "trimmed";
  for (const std::string& cut : cuts)
    out.entry.reason += (out.entry.reason.empty() ? "" : "; ") + printable_name(cut);
  clip.name = out.entry.name;
  out.tokens = decoded.frames->take(whole);
  if (out.tokens.tokens.rows() > 0) out.stream.reset();
  out.clip = std::move(clip);
}

}  // namespace zoetrope
