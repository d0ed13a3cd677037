// Asks for large pages under a big buffer before it is filled: the first touch of each small page costs as
// much as copying it, and a picture lies in more small pages than the processor remembers the places of. Used
// where ingest fills buffers of many frames, and for the decoder's pictures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoetrope {

/// A hint that changes nothing but speed; buffers below 8 MiB are left alone.
void prefer_big_pages(void* memory, size_t bytes);

/// Zeroed memory that starts at a large page, and lies in such where the system gives them.
class BigPages {
 public:
  /// Throws: std::bad_alloc.
  explicit BigPages(size_t bytes);
  ~BigPages();
  BigPages(const BigPages&) = delete;
  BigPages& operator=(const BigPages&) = delete;
  uint8_t* data() const { return data_; }

 private:
  size_t mapped_;
  void* base_;
  uint8_t* data_;
};

}  // namespace zoetrope
