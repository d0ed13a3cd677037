// A fast 64-bit hash of files and shards, to notice changes and damage; not for security. Used by ingest, by
// the checks of a data set and by checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zoetrope {

/// Hash of bytes that come in pieces; the result doesn't depend on how they are cut.
class ContentHash {
 public:
  void add(std::string_view bytes);  ///< appends bytes
  uint64_t value() const;

 private:
  void mix_block(const char* block);

  uint64_t lanes_[4] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89};
  char tail_[32] = {};
  uint64_t size_ = 0;
};

/// Hash of bytes in memory / of a whole file, as 16 hexadecimal digits.
/// Throws: Error naming the file and the system's reason.
std::string content_hash(std::string_view bytes);
std::string file_content_hash(const std::string& path);

}  // namespace zoetrope
