// How the numbers of a picture become colours: what its tags say, or the guess. Used by
// video/pixels/frame_converter.
//
// Note [untagged colour]: YUV without a matrix is taken as BT.709 from 720 lines up, else as BT.601, HDR as
// BT.2020; without a range as limited (16-235); without a place of chroma as MPEG-2 and H.264 have it, beside
// every second column's left pixel and between rows. The manifest says when matrix or range was guessed.
#pragma once

#include <array>
#include <string>

#include "video/pixels/picture_job.h"
#include "video/pixels/plane_reader.h"

namespace zoetrope::pixels {

/// Tags of a picture, and what fills their gaps.
struct PictureColor {
  int matrix = AVCOL_SPC_UNSPECIFIED;  ///< AVColorSpace
  int transfer = AVCOL_TRC_UNSPECIFIED;
  int primaries = AVCOL_PRI_UNSPECIFIED;
  int chroma_place = AVCHROMA_LOC_UNSPECIFIED;
  bool full_range = false, guessed = false;
  bool operator==(const PictureColor&) const = default;
};

/// Throws: Error (a reason to refuse) for matrices that can't be converted; for HDR of other primaries than
/// BT.2020, and for all HDR where it isn't to be tone-mapped.
PictureColor color_of(const AVFrame& frame, const PixelFormat& format, bool tone_map_hdr);

/// What else was done to colours, for the manifest: place of chroma, alpha, tone mapping.
std::string steps_of(const PictureColor& color, const PixelFormat& format);

/// Colours in double: [red, green, blue][plane], and offsets; planes are counted in 8-bit levels, samples
/// divided by 2^(depth - 8), and so are colours.
struct ColorEquations {
  double factor[3][3] = {};
  double offset[3] = {};
};
/// Source: ITU-R BT.601, BT.709, BT.2020 (non-constant luminance), SMPTE 240M, FCC; YCgCo of H.264.
ColorEquations equations_of(const PictureColor& color, const PixelFormat& format,
                            const std::array<int, 3>& depths);

/// Shift of chroma samples from the middle of their pixels, in samples, along columns (x) and rows (y).
struct ChromaSiting {
  double x = 0, y = 0;
};
/// Where this picture's chroma is.
ChromaSiting siting_of(const PictureColor& color, const PixelFormat& format);

/// The equations as integers for the inner loops, and for HDR.
ColorMix mix_of(const ColorEquations& equations);
SignalMix signals_of(const ColorEquations& equations);

/// Whether the tag of the transfer says HDR.
HdrTransfer hdr_of(const PictureColor& color);

}  // namespace zoetrope::pixels
