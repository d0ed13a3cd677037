// What is read from a picture at its own size: dark bars around it, lines of two fields, sharpness. Used by
// video/analysis/frame_analyzer.
#pragma once

#include <cstdint>

#include "video/analysis/luma_plane.h"
#include "video/analysis/thumbnail.h"

namespace zoetrope {

/// Rows and columns at the edges whose mean is at most 24 of 255, as ffmpeg's cropdetect counts them.
/// Units: pixels as coded, before rotation.
struct DarkBars {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
  bool operator==(const DarkBars&) const = default;
};

/// Finds the bars; a picture that is dark throughout has none. Of columns, 64 evenly spaced rows are read.
DarkBars find_bars(const LumaPlane& plane);
/// The picture without its bars.
PictureRect inside(const LumaPlane& plane, const DarkBars& bars);

/// Share of pixels that differ from the lines above and below by more than 12 levels, both in the same
/// direction, while those two, of the other field, differ by less than 12: about 0 for whole frames, more
/// for two fields of moving pictures. Reads at most 64 groups of three lines.
double combed_share(const LumaPlane& plane);

/// Variance of the 3 x 3 Laplacian of the picture at a fixed working size: 256 pixels along its longer
/// side, by means of boxes; a smaller picture keeps its size. Units: squared levels of 0 to 255. Below about
/// 100 pictures look blurred.
double sharpness_of(const LumaPlane& plane);

}  // namespace zoetrope
