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

/// As decode_file. `open_sink`: when there is one window, asked for each of its sound runs where their tokens
/// go. Memory: the tokens of the clips that go nowhere, a few decoded frames. Throws: what a sink throws.
std::vector<DecodedTokens> decode_tokens(const MediaLocation& location, const DecodeRules& rules,
                                         const std::vector<Window>& windows,
                                         const FrameObserver& observe = {},
                                         const OpenTokenSink& open_sink = {});

}  // namespace zoetrope
