// What a manifest line says of a clip's pictures: its part of the file, scores, hashes, and which clip it
// repeats. Part of ManifestEntry; computed by video/analysis, written and read by video/store/manifest.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace zoetrope {

/// Figures of one clip over all frames that its part of the file presents; NaN means unknown. Computed on
/// means of 64 x 64 boxes of luma, 0 black to 255 white, unless said otherwise.
struct ClipScores {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double motion = kUnknown;  ///< mean absolute difference of neighbouring frames, in levels per second
  double frozen = kUnknown;  ///< share of time in which a frame differs from the next by below 0.255 levels
  double brightness = kUnknown;   ///< mean level
  double contrast = kUnknown;     ///< mean standard deviation of levels within a frame
  double black = kUnknown;        ///< share of frames with 98 % of pixels below 10 % of white
  double sharpness = kUnknown;    ///< mean variance of the Laplacian at 256 pixels, four frames a second
  double letterbox = kUnknown;    ///< share of the picture in dark bars that all frames have
  double combed = kUnknown;       ///< mean share of pixels that stand out as lines of another field
  std::array<int64_t, 4> bars{};  ///< left, top, right, bottom: coded pixels in these bars
};

/// The earlier clip that a clip repeats.
struct DuplicateOf {
  std::string name;    ///< first such clip in path order; empty: none
  std::string kind;    ///< file: same bytes; frames: same pixels; near: alike by frame hashes
  double matched = 0;  ///< share of seconds that are alike, the smaller of both clips'
};

/// Everything that video/analysis adds to a line.
struct ClipAnalysis {
  bool has_window = false;                                     ///< a part of its file
  double window_start = 0, window_end = ClipScores::kUnknown;  ///< seconds; NaN: to the end
  bool has_scores = false;
  ClipScores scores;
  std::string frames_hash;                ///< content hash of the tokens: same frames, same hash
  std::vector<std::string> frame_hashes;  ///< one a second, of frames with something to see
  DuplicateOf duplicate;
  bool filtered = false;  ///< refused by a filter or as a duplicate, at the user's wish
};

/// One JSON object with the members of a line that are present.
std::string analysis_text(const ClipAnalysis& analysis);
/// From the same members of a line. Throws: nlohmann's exception for other types.
ClipAnalysis parse_analysis(const std::string& text);

}  // namespace zoetrope
