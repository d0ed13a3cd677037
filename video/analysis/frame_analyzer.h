// Looks at every presented frame of a file once, in the one decode that makes its clips, and keeps a few
// numbers of each; scores and hashes of a clip are put together from those of its frames afterwards. Used by
// video/ingest.
//
// Note [working pictures]: luma alone. Motion, brightness, darkness and hashes come from means of 64 x 64
// boxes, made once per frame; sharpness from 256 pixels along the longer side, four times a second; bars and
// combed lines from some rows and columns of the picture itself.
#pragma once

#include <cstdint>
#include <vector>

#include "video/analysis/frame_hash.h"
#include "video/analysis/luma_plane.h"
#include "video/analysis/picture_measures.h"
#include "video/analysis/thumbnail.h"
#include "video/media/frame_observer.h"
#include "video/store/manifest_scores.h"

namespace zoetrope {

/// What is kept of a frame.
struct FrameRecord {
  int64_t index = 0;
  double seconds = 0;     ///< after the file's first presented frame
  double difference = 0;  ///< from the frame before, in levels
  Brightness brightness;
  double combed = 0;
  double sharpness = -1;  ///< -1: not computed for this frame
  DarkBars bars;          ///< of frames that are not black
  bool is_black = false;
  int quality = 0;  ///< PDQ's
  FrameHash hash;   ///< of the picture as shown, without its bars
  int64_t width = 0, height = 0;
};

class FrameAnalyzer {
 public:
  /// Takes the next presented frame.
  void observe(const AVFrame& frame, const PresentedFrame& place);
  const std::vector<FrameRecord>& records() const { return records_; }

 private:
  LumaReader reader_;
  Thumbnail last_;
  double next_sharpness_ = 0;  ///< time of the next frame whose sharpness is computed
  std::vector<FrameRecord> records_;
};

/// Scores of a clip made of the frames `first_index` to `last_index`, and a hash for each of its seconds that
/// has something to see.
ClipScores scores_of(const std::vector<FrameRecord>& records, int64_t first_index, int64_t last_index);
std::vector<std::string> second_hashes_of(const std::vector<FrameRecord>& records, int64_t first_index,
                                          int64_t last_index);

}  // namespace zoetrope
