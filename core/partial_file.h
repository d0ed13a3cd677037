// A file that is written piece by piece and appears whole or not at all. Used by video/store and core's
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/files.h"

namespace zoetrope {

/// PATH.partial, which becomes PATH by `commit` and goes with the object otherwise.
class PartialFile {
 public:
  /// Throws: Error naming PATH and the system's reason, as all that follows.
  explicit PartialFile(const std::string& path);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// Writes all of it.
  void write_at(const void* data, size_t size, uint64_t offset) const;
  /// Reads all of it.
  void read_at(void* data, size_t size, uint64_t offset) const;
  /// Cuts the file, or adds zeros to it.
  void resize(uint64_t size) const;
  /// Content hash of the first `size` bytes.
  std::string hash_of(uint64_t size) const;
  /// Syncs, renames, syncs the folder.
  void commit();

 private:
  std::string path_, partial_;
  OpenFile file_;
  bool committed_ = false;
};

}  // namespace zoetrope
