// Small pictures of fixed size, each pixel the mean of its box, and what is read from them: brightness,
// darkness, motion. One is made per frame and shared by all scores. Used by video/analysis/frame_analyzer.
#pragma once

#include <array>
#include <cstdint>

#include "video/analysis/luma_plane.h"

namespace zoetrope {

/// A part of a picture.
struct PictureRect {
  int64_t x = 0, y = 0, width = 0, height = 0;
};

constexpr int64_t kThumbnailSide = 64;
constexpr size_t kThumbnailPixels = 64 * 64;

/// Shapes: 64 rows of 64 columns. Units: 16ths of a level, 0 black to 16 x 255 white, whatever the range.
struct Thumbnail {
  std::array<uint16_t, kThumbnailPixels> pixels{};
};

/// Means of columns x rows boxes of a part of a picture, in 16ths of a level; box edges lie on whole pixels,
/// and of tall boxes at most eight evenly spaced rows are read. A side with fewer pixels than boxes repeats
/// them. Shapes: means [rows, columns].
void box_means(const LumaPlane& plane, const PictureRect& part, int64_t columns, int64_t rows,
               uint16_t* means);
/// The means of 64 x 64 boxes.
Thumbnail make_thumbnail(const LumaPlane& plane, const PictureRect& part);

/// Figures of one thumbnail. Units: levels of 0 to 255.
struct Brightness {
  double mean = 0, deviation = 0;
  double dark_share = 0;  ///< pixels below 10 % of white, as ffmpeg's blackdetect counts them
};
/// Brightness, spread and darkness of one thumbnail.
Brightness brightness_of(const Thumbnail& thumbnail);

/// Mean absolute difference of two thumbnails. Units: levels.
double difference_of(const Thumbnail& a, const Thumbnail& b);

}  // namespace zoetrope
