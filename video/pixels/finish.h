// From the sums of planes to pixels: the last step of video/pixels/band, for ordinary pictures and for HDR.
// Used by video/pixels/picture_job alone.
#pragma once

#include <array>
#include <cstdint>

#include "video/pixels/picture_job.h"

namespace zoetrope::pixels {

/// Standard dynamic range: the matrix alone.
template <class Lanes>
class MatrixFinish {
 public:
  using Sum = typename Lanes::Narrow;
  static constexpr int32_t kStart = 1 << (kWeightBits - 1);  ///< what sums begin with: it rounds them
  explicit MatrixFinish(const ColorMix& mix) : mix_(mix) {}

  /// Sixty-fourths of a level.
  static Sum keep(typename Lanes::Wide sum) { return Lanes::narrow(sum, kWeightBits); }
  /// Pixels of sixteen rows.
  typename Lanes::Pixels operator()(const Sum& a, const Sum& b, const Sum& c) const {
    return Lanes::pixels(mixed(0, a, b, c), mixed(1, a, b, c), mixed(2, a, b, c));
  }

 private:
  typename Lanes::Narrow mixed(int color, const Sum& a, const Sum& b, const Sum& c) const {
    const int16_t* factor = mix_.factor[color];
    const auto sum = Lanes::add(Lanes::scale(a, factor[0]), Lanes::splat16(mix_.offset[color]));
    return Lanes::add(Lanes::add(sum, Lanes::scale(b, factor[1])), Lanes::scale(c, factor[2]));
  }

  const ColorMix& mix_;
};

/// High dynamic range: sums as they are, then the chain of video/pixels/tone_map, pixel by pixel.
template <class Lanes>
class ToneMapFinish {
 public:
  struct Sum {
    int32_t row[16];
  };
  static constexpr int32_t kStart = 0;
  ToneMapFinish(const SignalMix& mix, const ToneMap& map) : mix_(mix), map_(map) {}

  /// As they are, in the order of rows.
  static Sum keep(const typename Lanes::Wide& sum) {
    Sum out;
    Lanes::store_rows(out.row, sum);
    return out;
  }
  /// Pixels of sixteen rows.
  typename Lanes::Pixels operator()(const Sum& a, const Sum& b, const Sum& c) const {
    constexpr float kUnit = 1.0f / float(1 << (2 * kWeightBits));
    int16_t sixteenths[3][16];
    for (int i = 0; i < 16; ++i) {
      const float planes[3] = {float(a.row[i]) * kUnit, float(b.row[i]) * kUnit, float(c.row[i]) * kUnit};
      std::array<float, 3> signal;
      for (size_t k = 0; k < 3; ++k)
        signal[k] = mix_.factor[k][0] * planes[0] + mix_.factor[k][1] * planes[1] +
                    mix_.factor[k][2] * planes[2] + mix_.offset[k];
      const std::array<float, 3> levels = map_.map(signal);
      for (size_t k = 0; k < 3; ++k) sixteenths[k][i] = int16_t(16 * int(levels[k] + 0.5f));
    }
    return Lanes::pixels(Lanes::load(sixteenths[0]), Lanes::load(sixteenths[1]), Lanes::load(sixteenths[2]));
  }

 private:
  const SignalMix& mix_;
  const ToneMap& map_;
};

}  // namespace zoetrope::pixels
