// High dynamic range (PQ and HLG) to BT.709 for ordinary screens, before anything is rounded to 8 bits. Used
// by video/pixels/picture_job.
//
// Note [tone mapping]: signal to light of a display: SMPTE ST 2084 for PQ; for HLG the inverse of its OETF
// and the system gamma 1.2 of a 1000-nit display (BT.2100). The largest of red, green and blue goes through
// the curve of BT.2390 (5.4.1, black at 0) from 1000 nit, brighter is cut, to 203 nit (reference white of
// BT.2408), and all three by its factor, so that hues stay. BT.2020 becomes BT.709 in linear light, what lies
// outside is cut; then 203 nit is white in BT.709's display transfer (BT.1886 with black at 0: a power
// of 2.4). The transfer tag alone decides that a picture is HDR: primaries tagged as BT.709, or not at all,
// are read as BT.2020.
#pragma once

#include <array>
#include <vector>

namespace zoetrope::pixels {

enum class HdrTransfer { kNone, kPq, kHlg };

constexpr double kSourcePeakNits = 1000, kWhiteNits = 203;

/// The chain for one transfer, in tables with linear interpolation.
class ToneMap {
 public:
  explicit ToneMap(HdrTransfer transfer);
  /// From signals R'G'B' (0 to 1, else cut) to levels 0 to 255, not rounded. The same on every machine.
  std::array<float, 3> map(std::array<float, 3> signal) const;

 private:
  /// f(x) for x in [0, 1].
  class Table {
   public:
    /// Values at steps + 1 places.
    template <class F>
    Table(int steps, F&& f);
    float at(float x) const;

   private:
    std::vector<float> values_;
  };

  bool hlg_;
  Table light_;    ///< signal -> light, 1 being the source's peak; HLG: scene light
  Table system_;   ///< fourth root of HLG's scene luminance -> its factor
  Table factor_;   ///< largest light -> factor of the curve; 1 becomes white
  Table display_;  ///< fourth root of light -> signal of the output
};

/// The tables of a transfer, made once.
const ToneMap& tone_map_of(HdrTransfer transfer);

}  // namespace zoetrope::pixels
