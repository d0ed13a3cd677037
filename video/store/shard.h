// One shard of a data set: token payload of many samples, with an index that is read without the payload.
// Written by video/store/dataset_writer, read by video/store/dataset.
//
// Arrays of the file (N samples, all tokens T in sample order):
//   tokens [T, 3 pt ph pw] u8      token-major payload, chunks with checksums
//   token_offsets [N + 1] i64      rows of each sample
//   grid [N, 3], size [N, 3] i64   token grid; frames, height, width
//   fps [N] f64
//   names, captions u8             text of all samples, cut by name_offsets, caption_offsets [N + 1] i64
//   frame_offsets [N + 1] i64, source_seconds, output_seconds f64, source_index i64: where frames came from
//   sample_hash [N, 16] u8         content hash, in letters, of each sample's payload
//   patch [3] i64, version [1] i64
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/content_hash.h"
#include "video/store/shard_file.h"
#include "video/tokens.h"

namespace zoetrope {

/// What a shard knows of a sample besides its payload.
struct ShardSample {
  std::string name, caption;
  std::array<int64_t, 3> grid{};
  int64_t num_frames = 0, height = 0, width = 0;
  double fps = 0;
  int64_t first_row = 0, num_tokens = 0;
  std::string hash;  ///< content hash of the payload
};

/// The payload of a clip on its way into a shard before it is known whether the clip is kept; with the object
/// it goes from there again.
class ShardStream {
 public:
  explicit ShardStream(ShardImage& image);
  ~ShardStream();
  ShardStream(const ShardStream&) = delete;
  ShardStream& operator=(const ShardStream&) = delete;
  /// Appends tokens. Shapes: rows [N, features] u8.
  void put(const Tensor& rows);
  /// Reads the first tokens that were put.
  void read_back(const Tensor& rows) const { image_.read_marked(rows); }
  int64_t num_rows() const { return num_rows_; }
  std::string hash() const;  ///< content hash of what was put
  void keep() { kept_ = true; }

 private:
  ShardImage& image_;
  ContentHash hash_;
  int64_t num_rows_ = 0;
  bool kept_ = false;
};

/// Builds one shard after the other.
class ShardWriter {
 public:
  explicit ShardWriter(const Patch& patch);
  /// Begins a shard that will be at `path`, before its first clip.
  void begin(const std::string& path);
  bool has_begun() const { return image_ != nullptr; }
  /// Gives up a shard that has no clip.
  void give_up() { image_.reset(); }
  /// Adds a tokenized clip; `clip` needs name, fps, frame count, size and sources, not pixels.
  void append(const Clip& clip, const std::string& caption, const Tokens& tokens);
  /// For the next clip's tokens as they come; nothing else may be appended while it lives.
  std::shared_ptr<ShardStream> stream();
  /// Adds the clip whose tokens it got.
  void append(const Clip& clip, const std::string& caption, ShardStream& stream);
  int64_t num_samples() const { return int64_t(samples_.size()); }
  int64_t num_tokens() const { return num_tokens_; }
  int64_t payload_bytes() const;
  /// Hash of the payload of the sample that was added last.
  const std::string& last_hash() const { return samples_.back().hash; }
  /// The finished file, to be committed; the writer is empty afterwards.
  FinishedImage finish();

 private:
  void write_index(ShardImage& image) const;

  Patch patch_;
  std::unique_ptr<ShardImage> image_;
  std::vector<ShardSample> samples_;
  std::vector<std::vector<FrameSource>> sources_;
  int64_t num_tokens_ = 0;
};

/// Reads a shard. Thread-safe.
class ShardReader {
 public:
  /// Reads and checks the index. Throws: Error naming the file.
  explicit ShardReader(const std::string& path);
  const std::string& path() const { return file_.path(); }
  const std::vector<ShardSample>& samples() const { return samples_; }
  const Patch& patch() const { return patch_; }
  int64_t num_tokens() const { return num_tokens_; }
  /// Tokens [begin, end) of a sample into dense `rows` [end - begin, features] u8.
  void read_tokens(int64_t sample, int64_t begin, int64_t end, const Tensor& rows) const;
  /// Where the frames of a sample came from.
  std::vector<FrameSource> read_sources(int64_t sample) const;

 private:
  void read_samples();

  ShardFile file_;
  Patch patch_;
  std::vector<ShardSample> samples_;
  std::vector<int64_t> frame_offsets_;
  int64_t num_tokens_ = 0;
};

}  // namespace zoetrope
