// What became of a decoded file, in words: why a window shows nothing, and what was cut from it. Used by
// video/media/file_decoder.
#pragma once

#include <string>

#include "video/media/decode_tokens.h"
#include "video/media/frame_clock.h"
#include "video/media/shown_frames.h"

namespace zoetrope {

/// A file after its decode.
struct DecodeOutcome {
  const SourceFacts& facts;
  const FrameClock& clock;
  const FrameConverter& converter;
  const DecodeRules& rules;
  bool declares_exactly = false;  ///< fewer packets than declared mean a cut file
  std::string end_error;          ///< why reading ended before the file's end; empty when it didn't
  std::string first_error;        ///< of the decoder
  std::string changes;            ///< of size and format within the file
  std::string limit;              ///< that ended the counts after all was decoded
};

/// Why this window has no frame.
std::string empty_reason(const DecodeOutcome& outcome, const WindowSampler& sampler);
/// Fills in the cuts and whether the file is damaged.
void describe_cuts(const DecodeOutcome& outcome, const WindowSampler& sampler, DecodedClip& out);
/// The clip of this window with its verdict; moves the frames out of the sampler.
DecodedTokens decoded_clip(const DecodeOutcome& outcome, WindowSampler& sampler);

}  // namespace zoetrope
