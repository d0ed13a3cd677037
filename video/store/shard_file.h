// A thin wall around HDF5: named arrays, and one big matrix of byte rows read by ranges. A new file grows
// under a temporary name, so that it appears whole or not at all. Used by video/store/shard alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/partial_file.h"
#include "core/tensor.h"

namespace zoetrope {

/// A chunk of the matrix of rows: small beside a rank's range of a long clip, big beside a seek, and four fit
/// into HDF5's cache of a data set that is open.
constexpr int64_t kChunkBytes = 256 << 10;

/// What a shard's file came to.
struct FinishedImage {
  int64_t bytes = 0;
  std::string hash;                   ///< content hash of the file
  std::unique_ptr<PartialFile> file;  ///< to commit
};

/// An HDF5 file being made. Object times are off and the file format is the library's oldest, so the bytes
/// depend on the content alone. Memory: HDF5's own records and one chunk, however big the file is.
class ShardImage {
 public:
  /// `path`: where it will be; until then it grows beside it. Throws: Error naming it, as all that follows.
  explicit ShardImage(const std::string& path);
  ~ShardImage();
  ShardImage(const ShardImage&) = delete;
  ShardImage& operator=(const ShardImage&) = delete;

  /// Stores a dense tensor of one or two dimensions (u8, i64 or f64).
  void write(const std::string& name, const Tensor& values);
  /// Makes an empty matrix of byte rows, in chunks with checksums.
  void create_rows(const std::string& name, int64_t features);
  /// Appends rows to it. Shapes: rows [N, features] u8.
  void append_rows(const Tensor& rows);
  /// Rows that are appended from here on may be read again, and taken back, until the next mark.
  void mark();
  /// Reads the first of them.
  void read_marked(const Tensor& rows) const;
  /// As if they had never been; the file's bytes don't show it.
  void take_back();
  /// No more rows come: to be called before other arrays are stored.
  void end_rows();
  /// The finished file, under its temporary name; once.
  FinishedImage finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// An HDF5 file opened for reading. All calls of all files take turns on one lock: HDF5 is not safe
/// otherwise.
class ShardFile {
 public:
  /// Throws: Error with the file's name and HDF5's own message.
  explicit ShardFile(const std::string& path);
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  const std::string& path() const;
  /// A whole array of one or two dimensions.
  Tensor read(const std::string& name, DType dtype) const;
  /// Values [begin, begin + count) of an array of one dimension.
  Tensor read_range(const std::string& name, DType dtype, int64_t begin, int64_t count) const;
  /// Values of an array of one dimension, without reading it.
  int64_t length_of(const std::string& name) const;
  /// Rows and columns of a matrix, without reading it.
  void shape_of_rows(const std::string& name, int64_t& rows, int64_t& features) const;
  /// Reads rows [begin, begin + out.rows()) of a byte matrix into a dense `out`.
  void read_rows(const std::string& name, int64_t begin, const Tensor& out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
