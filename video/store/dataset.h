// A data set on disk: shards, manifest.jsonl, dataset.json. The index is readable without payload; a reader
// fetches just a token range.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "video/tokens.h"

namespace zoetrope {

/// One kept clip.
struct DatasetSample {
  std::string name, caption;
  std::array<int64_t, 3> grid{};
  int64_t num_tokens = 0, num_frames = 0, height = 0, width = 0;
  double fps = 0;
};

class Dataset {
 public:
  /// Opens and checks folder, manifest and shards. Throws: Error naming the file and what to do (also when
  /// ingest has not finished: manifest.jsonl is missing).
  explicit Dataset(const std::string& folder);
  ~Dataset();
  /// A sample that counts several times in an epoch is listed as often, its payload kept once.
  const std::vector<DatasetSample>& samples() const;
  std::vector<int64_t> lengths() const;  ///< tokens per sample
  Patch patch() const;
  double fps() const;
  /// Features per token of the payload (3 pt ph pw).
  int64_t features() const;
  /// Content hash of the data set (of dataset.json and manifest), for run folders and resume.
  std::string fingerprint() const;
  /// Reads tokens [begin, end) of a sample into `rows` [end - begin, features] u8, dense. Thread-safe.
  void read_tokens(int64_t sample, int64_t begin, int64_t end, const Tensor& rows) const;
  /// Where each frame of a sample came from.
  std::vector<FrameSource> read_sources(int64_t sample) const;
  /// A whole sample as frames.
  Clip read_clip(int64_t sample) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Compares every shard with its hash in dataset.json; one message per damaged shard. Reads all bytes.
std::vector<std::string> find_shard_damage(const std::string& folder);

}  // namespace zoetrope
