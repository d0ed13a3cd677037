// As video/media/decode, but the clips come as tokens: no picture of them is ever held. For ingest.
#pragma once

#include <optional>
#include <vector>

#include "video/media/decode.h"
#include "video/token_frames.h"

namespace zoetrope {

/// One window of a file: `clip` without pixels.
struct DecodedTokens : DecodedClip {
  std::optional<TokenFrames> frames;  ///< none when refused
};

/// As decode_file. Memory: the tokens of the clips, a few decoded frames.
std::vector<DecodedTokens> decode_tokens(const MediaLocation& location, const DecodeRules& rules,
                                         const std::vector<Window>& windows,
                                         const FrameObserver& observe = {});

}  // namespace zoetrope
