// The reference for frames: a plain decode from the first packet to the last with one thread, every frame
// with its time and a hash of its converted picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "video/media/ratio.h"
#include "video/pixels/resize.h"

namespace zoetrope::testing_support {

/// All presented frames of a file.
struct LinearDecode {
  Ratio time_base;
  std::vector<int64_t> ticks;         ///< sorted
  std::vector<std::string> pictures;  ///< hash of each frame's RGB
  int64_t end_tick = 0;               ///< of the last frame
  int64_t num_frames() const { return int64_t(ticks.size()); }
  /// Frames that a window shows, by the definition: for each k with start + k / fps before its end, the last
  /// frame whose time after the first is not later; none once the last frame is over.
  std::vector<int64_t> shown(Ratio start, Ratio end, Ratio fps) const;
};

/// Throws: Error when the file can't be decoded at all.
LinearDecode decode_linearly(const std::string& path, const SizeRule& size);

}  // namespace zoetrope::testing_support
