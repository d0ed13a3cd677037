#include "video/media/decode_verdict.h"

#include "core/check.h"

namespace zoetrope {

std::string empty_reason(const DecodeOutcome& outcome, const WindowSampler& sampler) {
  const SourceFacts& facts = outcome.facts;
  const std::string error = outcome.first_error.empty() ? "" : ": " + outcome.first_error;
  if (facts.packets == 0)
    return join_message("no video frames in the file",
                        facts.declared > 0 ? join_message(", its header declares ", facts.declared) : "",
                        outcome.end_error.empty() ? "" : ": " + outcome.end_error);
  if (facts.decoded == 0) return join_message("none of ", facts.packets, " packets could be decoded", error);
  if (facts.damaged > 0 && sampler.window().start == Ratio{})
    return join_message("no sound frame: ", facts.damaged, " decode errors in ", facts.packets, " packets",
                        error);
  const FrameClock& clock = outcome.clock;
  return join_message("nothing to show between ", sampler.window().start.value(), " s and ",
                      sampler.window().end.value(), " s; the video is ",
                      clock.seconds(clock.last_tick() - clock.first_tick()), " s long");
}

void describe_cuts(const DecodeOutcome& outcome, const WindowSampler& sampler, DecodedClip& out) {
  const SourceFacts& facts = outcome.facts;
  const std::string &first = outcome.first_error, &end = outcome.end_error;
  if (facts.damaged > 0)
    out.cuts.push_back(join_message(
        "decode errors (", facts.damaged, " in ", facts.packets, " packets",
        first.empty() ? "" : ", first: " + first, "): the longest run of sound frames is kept, from ",
        sampler.sources().front().source_seconds, " s to ", sampler.sources().back().source_seconds, " s"));
  const bool cut_file =
      !end.empty() || (outcome.declares_exactly && outcome.limit.empty() && facts.declared > facts.packets);
  if (cut_file)
    out.cuts.push_back(
        join_message("the file ends early: ", facts.packets, " packets",
                     facts.declared > 0 ? join_message(" of ", facts.declared, " declared frames") : "",
                     end.empty() ? "" : " (" + end + ")"));
  out.found_damage = facts.damaged > 0 || cut_file;
  if (!outcome.changes.empty()) out.cuts.push_back(outcome.changes);
  else if (outcome.converter.size_changed())
    out.cuts.push_back(
        "the picture's rotation changes within the file; later pictures are fitted to the first");
  if (!outcome.limit.empty()) out.cuts.push_back("the counts end before the file does: " + outcome.limit);
  if (outcome.clock.num_splices() > 0)
    out.cuts.push_back(join_message("its timestamps start over ", outcome.clock.num_splices(),
                                    " times; each part is shown right after the one before"));
  const int64_t last = outcome.clock.last_end();
  if (sampler.was_limited_by_length(last))
    out.cuts.push_back(join_message("only the first ", outcome.rules.max_seconds, " s (",
                                    outcome.rules.length_limit, ") of ",
                                    Ratio{} < sampler.window().start ? "the window, " : "",
                                    outcome.clock.seconds(last - outcome.clock.first_tick()), " s of video"));
}

DecodedTokens decoded_clip(const DecodeOutcome& outcome, WindowSampler& sampler) {
  DecodedTokens out;
  out.facts = outcome.facts;
  if (sampler.sources().empty()) {
    out.refused = empty_reason(outcome, sampler);
    out.found_damage = outcome.facts.damaged > 0 || !outcome.end_error.empty() ||
                       (outcome.facts.packets == 0 && outcome.facts.declared > 0);
    return out;
  }
  describe_cuts(outcome, sampler, out);
  out.frames = sampler.take_tokens();
  out.clip = sampler.take();
  out.clip.width = outcome.converter.target().width;
  out.clip.height = outcome.converter.target().height;
  return out;
}

}  // namespace zoetrope
