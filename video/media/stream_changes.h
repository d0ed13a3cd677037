// Whether the pictures of one file change their size or kind on the way. Each picture is converted from what
// it is itself, and fitted to the size of the first one that is kept, so nothing is garbled; the manifest
// says that it happened. Used by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <string>

#include "video/media/libav.h"

namespace zoetrope {

class StreamChanges {
 public:
  /// Compares a decoded picture with the one before.
  void note(const AVFrame& frame);
  /// How often the size, or the pixel format, matrix or range, differed from the picture before.
  int64_t sizes() const { return sizes_; }
  int64_t formats() const { return formats_; }
  /// What to say in the manifest; empty when all pictures are of one kind.
  std::string text() const;

 private:
  bool started_ = false;
  int width_ = 0, height_ = 0, format_ = 0, matrix_ = 0, range_ = 0;
  int64_t sizes_ = 0, formats_ = 0;
  std::string first_size_change_, first_format_change_;
};

}  // namespace zoetrope
