// The brightness of a decoded picture, 8 bits a pixel, whatever its format: what all scores of a frame are
// computed from. Used by video/analysis/frame_analyzer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

struct AVFrame;

namespace zoetrope {

/// Rows of luma as coded: `black` and `white` say which values these are (16 and 235, or 0 and 255).
struct LumaPlane {
  const uint8_t* data = nullptr;
  int64_t stride = 0, width = 0, height = 0;
  int black = 0, white = 255;
  const uint8_t* row(int64_t y) const { return data + y * stride; }
};

/// Finds or makes the plane. 8-bit planar formats are not copied; deeper ones lose their low bits; what has
/// no luma (RGB, palettes) goes through libswscale.
class LumaReader {
 public:
  LumaReader();
  ~LumaReader();
  /// Valid until the next call, and while the frame lives. Throws: Error when libav can't read the format.
  LumaPlane read(const AVFrame& frame);

 private:
  struct Scaler;
  std::vector<uint8_t> copy_;
  std::unique_ptr<Scaler> scaler_;
};

}  // namespace zoetrope
