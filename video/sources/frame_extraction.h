// Which frames of a video musubi-tuner makes clips of. Used by video/sources/toml_musubi.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Keys of a [[datasets]] table; numbers of frames.
struct FrameExtraction {
  std::string mode = "head";  ///< head, chunk, slide, uniform, full
  std::vector<int64_t> target_frames{1};
  int64_t stride = 1, samples = 1, most = 129;
};

/// Frames [first, first + count).
struct FrameSpan {
  int64_t first = 0, count = 0;
  bool operator==(const FrameSpan&) const = default;
};

/// Numbers of frames as the model takes them: each rounded down to 4 n + 1, sorted, once each.
std::vector<int64_t> rounded_targets(std::vector<int64_t> targets);
/// The spans of a video of so many frames, by target and then by position.
/// Source: musubi-tuner, VideoDataset.retrieve_latent_cache_batches.
std::vector<FrameSpan> spans_of(const FrameExtraction& extraction, int64_t num_frames);

}  // namespace zoetrope
