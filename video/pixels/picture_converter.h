// One picture at a time from libav's frame to RGB; weights and matrix are kept as long as pictures are alike.
// Used by video/pixels/resize.
#pragma once

#include <array>

#include "video/pixels/picture_color.h"
#include "video/pixels/resize.h"

namespace zoetrope::pixels {

/// Everything that weights and matrix depend on.
struct PictureKey {
  int width = 0, height = 0, format = AV_PIX_FMT_NONE;
  PictureColor color;
  TargetSize size;
  Orientation turn;
  bool operator==(const PictureKey& other) const;
};

class PictureConverter {
 public:
  explicit PictureConverter(bool tone_map_hdr = true) : tone_map_hdr_(tone_map_hdr) {}
  /// Scales, turns and crops a picture to size.width x size.height x 3 bytes.
  /// Throws: Error (a reason to refuse) for formats and colours that can't be converted.
  void convert(const AVFrame& frame, const TargetSize& size, const Orientation& turn, uint8_t* rgb);
  /// What convert would run, for tests; its axes stay valid until the next call.
  PictureJob job_for(const AVFrame& frame, const TargetSize& size, const Orientation& turn, uint8_t* rgb);

 private:
  void prepare(const PictureKey& key, const PixelFormat& format);

  bool tone_map_hdr_, prepared_ = false;
  PictureKey key_;
  PixelFormat format_;
  PlaneReader reader_;
  std::array<ResampleAxis, 2> columns_, rows_;  ///< of luma (or red, green, blue) and of chroma
};

}  // namespace zoetrope::pixels
