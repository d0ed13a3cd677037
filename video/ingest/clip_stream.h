// A clip decoded straight into the shard that is being written, when it is its turn; whether it stays there
// is known at its end. Used by video/ingest/ingest.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "video/analysis/frame_analyzer.h"
#include "video/media/decode_tokens.h"
#include "video/store/shard.h"

namespace zoetrope {

/// Clips of a file, and what has the tokens of a single one; null when the clip holds them itself.
struct StreamedClips {
  std::vector<DecodedTokens> clips;
  std::shared_ptr<ShardStream> stream;
};

/// As decode_tokens. `open`: a stream into the shard, or null where others are to be written first.
/// Throws: Error when the shard can't be written, unlike failures of the file, which are verdicts.
StreamedClips decode_streamed(const MediaLocation& location, const DecodeRules& rules,
                              const std::vector<Window>& windows, FrameAnalyzer& frames,
                              const std::function<std::shared_ptr<ShardStream>()>& open);

}  // namespace zoetrope
