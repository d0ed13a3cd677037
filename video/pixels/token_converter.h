// Turns decoded pictures straight into tokens: the pixels of FrameConverter, without a picture in between
// where patches and orientation allow it. Used by video/media/shown_frames.
#pragma once

#include <array>
#include <vector>

#include "video/pixels/picture_converter.h"
#include "video/pixels/resize.h"
#include "video/token_frames.h"

namespace zoetrope {

class TokenConverter {
 public:
  explicit TokenConverter(const SizeRule& rule) : pictures_(rule), direct_(rule.tone_map_hdr) {}
  /// As FrameConverter::prepare.
  void prepare(const AVFrame& frame, const int32_t* stream_matrix, std::array<int, 2> pixel_aspect) {
    pictures_.prepare(frame, stream_matrix, pixel_aspect);
  }
  /// As FrameConverter::convert, to a place of target().height x target().width pixels.
  void convert(const AVFrame& frame, const int32_t* stream_matrix, std::array<int, 2> pixel_aspect,
               const TokenPlace& place);
  /// The converter to pictures, which knows size and colours.
  FrameConverter& pictures() { return pictures_; }
  const FrameConverter& pictures() const { return pictures_; }

 private:
  bool is_direct(const AVFrame& frame, const int32_t* stream_matrix, const TokenPlace& place) const;

  FrameConverter pictures_;
  pixels::PictureConverter direct_;
  std::vector<uint8_t> rgb_;
};

}  // namespace zoetrope
