// A decoded clip with its verdict, on its way from the worker that decoded it to the writer. Used by
// video/ingest.
#pragma once

#include <memory>
#include <string>

#include "video/clip.h"
#include "video/media/decode_tokens.h"
#include "video/store/manifest.h"
#include "video/store/shard.h"
#include "video/tokens.h"

namespace zoetrope {

/// A decided clip on its way to the writer.
struct ReadyClip {
  ManifestEntry entry;
  Clip clip;  ///< without pixels
  std::string caption;
  Tokens tokens;  ///< the grid alone, when `stream` has them
  std::shared_ptr<ShardStream> stream;
  bool reused = false;  ///< not decoded, but taken from the data set that is being updated
};

/// Refuses a clip of which fewer frames came than its window counts, as musubi-tuner's clips are whole or
/// none.
void require_whole_window(const Window& window, DecodedClip& decoded);

/// Gives a decoded clip its verdict and cuts it to whole token rows; `decoded` is used up. `out.stream`: what
/// may have its tokens.
void decide(DecodedTokens& decoded, const DecodeRules& rules, ReadyClip& out);

}  // namespace zoetrope
