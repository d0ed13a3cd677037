// Pictures of random content in any pixel format, and what their conversion to RGB must give, in double and
// without any of the code under test.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "video/media/libav.h"
#include "video/pixels/resize.h"

namespace zoetrope::testing_support {

/// A picture and the numbers that it was made of.
struct RandomPicture {
  libav::Frame frame;
  std::array<std::vector<int>, 4> samples;  ///< of each component, as the format's description orders them
  std::array<std::array<int64_t, 2>, 4> sizes{};  ///< width, height of each component
};

/// Every sample uniform over all its values; palettes too.
RandomPicture make_random_picture(AVPixelFormat format, int width, int height, uint64_t seed);

/// Signals R'G'B' (0 black, 1 white, not clamped), as reference_rgb makes them.
std::vector<double> reference_signals(const RandomPicture& picture, const TargetSize& size,
                                      const Orientation& turn);
/// Colours 0 to 255 before rounding, [height, width, 3]: cubic (a = -1/2) stretched where a plane shrinks,
/// edge samples repeated, each plane by itself; then the matrix, clamped.
std::vector<double> reference_rgb(const RandomPicture& picture, const TargetSize& size,
                                  const Orientation& turn);

}  // namespace zoetrope::testing_support
