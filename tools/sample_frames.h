// The frames of one clip as a data set's tokens hold them, a piece at a time, so that clips of any length
// need little memory. Used by `zoetrope inspect` and its page.
#pragma once

#include <cstdint>
#include <vector>

#include "video/store/dataset.h"

namespace zoetrope {

class SampleFrames {
 public:
  /// `most_bytes`: of pixels held at a time; one token row in time always fits.
  SampleFrames(const Dataset& dataset, int64_t sample, int64_t most_bytes = 64 << 20);

  int64_t num_frames() const { return about_.num_frames; }
  int64_t height() const { return about_.height; }
  int64_t width() const { return about_.width; }
  const DatasetSample& about() const { return about_; }
  /// A frame, valid until the next call. Shapes: [height, width, 3] u8 RGB.
  const uint8_t* frame(int64_t index);

 private:
  void load(int64_t first_row);

  const Dataset& dataset_;
  const int64_t sample_;
  const DatasetSample& about_;
  int64_t rows_at_a_time_;
  int64_t begin_ = 0, end_ = 0;  ///< frames that are there
  Clip piece_;
  int64_t skipped_ = 0;  ///< frames of the piece before begin_
};

/// Numbers of up to `most` of `count` things, evenly spaced, the first and the last among them.
std::vector<int64_t> evenly_spaced(int64_t count, int64_t most);

}  // namespace zoetrope
