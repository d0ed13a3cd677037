// From a decoded picture of any pixel format to planes of its components: in place where memory already holds
// them so, else unpacked. Used by video/pixels/frame_converter.
//
// Note [alpha]: pictures with an alpha channel (taken as straight) are put on black before they are
// resampled, so that hidden colours never shine through.
#pragma once

#include <array>
#include <vector>

#include "video/pixels/plane.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

namespace zoetrope::pixels {

/// What a pixel format is made of.
struct PixelFormat {
  const AVPixFmtDescriptor* about = nullptr;
  bool is_rgb = false;  ///< no matrix: planes are red, green, blue
  bool has_alpha = false;
  bool full_range = false;   ///< the name alone says so, as yuvj420p does
  bool is_inverted = false;  ///< one bit, 0 being white
  int planes = 3;            ///< 1 for grey, else 3
};

/// Throws: Error naming the format (a reason to refuse) when it is none of integers of at most 16 bits.
PixelFormat pixel_format_of(int format);

/// Reads pictures of one format; unpacked samples stay valid until the next picture.
class PlaneReader {
 public:
  PlaneReader() = default;
  /// `limited`: luma 16 and chroma 128 are black, which alpha needs.
  PlaneReader(const PixelFormat& format, bool limited) : format_(format), limited_(limited) {}
  /// Y, U, V or R, G, B or grey. Throws: Error when the picture's memory isn't as its format says.
  std::array<Plane, 3> read(const AVFrame& frame);

 private:
  bool is_in_place(int component) const;
  Plane in_place(const AVFrame& frame, int component) const;
  Plane unpacked(const AVFrame& frame, int component);
  void put_on_black(const AVFrame& frame, int component, int64_t y, uint16_t* row, Plane& plane);
  void read_palette(const AVFrame& frame);

  PixelFormat format_;
  bool limited_ = false;
  std::array<std::vector<uint16_t>, 3> samples_;
  std::vector<uint16_t> alpha_;
};

}  // namespace zoetrope::pixels
