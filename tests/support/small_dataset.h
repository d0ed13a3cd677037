// A small sealed data set in a temporary folder, for tests of every part: clips made by formula, tokenized,
// put into shards. Nothing is decoded.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "video/clip.h"
#include "video/tokens.h"

namespace zoetrope::testing_support {

/// What the data set holds; the defaults give clips of very different lengths.
struct SmallDatasetOptions {
  Patch patch;
  double fps = 8;
  /// Frames, height, width of each clip.
  std::vector<std::array<int64_t, 3>> sizes = {{1, 16, 24},  {5, 24, 16},  {9, 16, 16},  {1, 32, 32},
                                               {21, 16, 24}, {13, 24, 24}, {41, 24, 32}, {5, 8, 8}};
  uint64_t seed = 1;
  int64_t samples_per_shard = 3;
};

/// A moving coloured pattern that depends on the seed: smooth, with some noise.
Clip make_pattern_clip(int64_t num_frames, int64_t height, int64_t width, double fps, uint64_t seed);

/// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The data set; its clips in the data set's order are `clips()`, their captions "clip number I".
class SmallDataset {
 public:
  explicit SmallDataset(const SmallDatasetOptions& options = {});
  /// Path to hand to `Dataset` or to --data.
  std::string folder() const { return folder_.path() + "/data"; }
  const std::vector<Clip>& clips() const { return clips_; }

 private:
  TemporaryFolder folder_;
  std::vector<Clip> clips_;
};

}  // namespace zoetrope::testing_support
