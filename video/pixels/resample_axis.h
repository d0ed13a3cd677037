// How the samples of one axis are resampled: for each output the source samples and their weights. Used by
// video/pixels alone.
//
// Note [resampling]: the cubic of Catmull and Rom (a = -1/2), stretched by the scale where a plane shrinks,
// as "bicubic, antialiased" is in Pillow and torchvision; edge samples repeat. Each plane is resampled once,
// from its own grid to the output's, before the colour matrix. Weights are integers of 1/16384 that sum to
// one, so the result is the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope::pixels {

constexpr int kWeightBits = 14;  ///< a weight of one is 1 << kWeightBits

/// Which part of an axis is wanted, and where output samples lie on it.
struct AxisMapping {
  int64_t source = 0;  ///< samples of the plane
  double origin = 0;   ///< place of output 0, in samples: 0 is the centre of the first one
  double step = 1;     ///< from one output to the next; negative when mirrored
  int64_t count = 0;   ///< outputs
};

/// Place of a plane's samples along an axis of the whole picture.
struct AxisGrid {
  int64_t picture = 0;  ///< pixels of the picture
  int64_t samples = 0;  ///< of the plane
  int subsampling = 1;  ///< pixels per sample
  double siting = 0;  ///< shift of samples from the middle of their pixels, in samples, to the right or down
};

/// Outputs begin to begin + count of a picture scaled to `scaled` pixels, the other way round when
/// `mirrored`.
AxisMapping map_axis(const AxisGrid& grid, int64_t scaled, int64_t begin, int64_t count, bool mirrored);

/// Weights in pairs, for samples 2p and 2p + 1, the way multiply-add instructions take them.
struct ResampleAxis {
  int64_t count = 0;
  int pairs = 0;                    ///< of each output
  std::vector<int32_t> first_pair;  ///< p of each output's first pair; its later samples may lie past the end
  std::vector<int32_t> weights;     ///< [count, pairs]: the even sample's in the low half
  int64_t pair_begin = 0, pair_end = 0;  ///< of all outputs
};

/// The weights of a mapping.
ResampleAxis make_axis(const AxisMapping& mapping);

}  // namespace zoetrope::pixels
