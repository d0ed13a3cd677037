// Small pictures of frames: side by side in one strip, as pixels or as a JPEG for pages. Used by tools/ for
// contact sheets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Shapes: pixels [height, width, 3] u8 RGB.
struct Picture {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;
};

/// The frame made smaller to fit into the box, at its own aspect; one that fits already keeps its size.
/// Shapes: rgb [height, width, 3] u8. Throws: Error.
Picture shrink_to_fit(const uint8_t* rgb, int64_t height, int64_t width, int64_t box_height,
                      int64_t box_width);
constexpr int64_t kPictureGap = 2;  ///< pixels between pictures
constexpr uint8_t kPictureBackground = 32;
/// Pictures from left to right with gaps between them, each in the middle of the strip's height.
Picture side_by_side(const std::vector<Picture>& pictures);
/// Copies a picture into a larger one; what does not fit is left out.
void paste(Picture& onto, const Picture& picture, int64_t top, int64_t left);
/// The bytes of a JPEG file; `quality`: libavcodec's scale from 2 (best) to 31.
std::string encode_jpeg(const Picture& picture, int quality);

}  // namespace zoetrope
