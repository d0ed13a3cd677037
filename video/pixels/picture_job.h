// One picture's conversion from planes to RGB, ready to run. Used by video/pixels/frame_converter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "video/pixels/plane.h"
#include "video/pixels/resample_axis.h"
#include "video/pixels/tone_map.h"

namespace zoetrope::pixels {

/// Red, green and blue from three planes: sixteenths of a level = sum of plane (in 64ths of 1/256 of its
/// range) * factor / 2^15, plus offset, which holds the half that rounds.
struct ColorMix {
  int16_t factor[3][3] = {};  ///< [colour][plane], 1 is 2^13
  int16_t offset[3] = {};
};

/// The same for HDR: signals 0 to 1 from planes as fractions of 2^depth.
struct SignalMix {
  float factor[3][3] = {};
  float offset[3] = {};
};

constexpr int kPatchSide = 8;

/// A picture of whole patches of 8 x 8 pixels, each with its channels one after the other, as tokens have
/// them. Units: bytes.
struct PatchTarget {
  uint8_t* first = nullptr;  ///< red of the first patch
  ptrdiff_t row = 0;         ///< from a row of patches to the next
  ptrdiff_t patch = 0;       ///< from a patch to the next
  ptrdiff_t channel = 0;     ///< from red to green to blue
};

/// What the inner loops read and write.
struct PictureJob {
  std::array<Plane, 3> planes;
  int num_planes = 3;                                    ///< 1: grey
  std::array<const ResampleAxis*, 3> columns{}, rows{};  ///< of each plane
  ColorMix mix;
  const ToneMap* tone_map = nullptr;  ///< HDR: signals go through it, and `mix` isn't used
  SignalMix signals;
  bool swap = false;  ///< output columns are rows of `rows`
  uint8_t* rgb = nullptr;
  ptrdiff_t line = 0;   ///< bytes from output row to output row
  PatchTarget patches;  ///< in place of `rgb`, for pictures that aren't swapped
};

/// Runs it with the best instructions that this program was compiled for.
void run_picture_job(const PictureJob& job);
/// The same with plain loops: the same bytes.
void run_picture_job_plainly(const PictureJob& job);

}  // namespace zoetrope::pixels
