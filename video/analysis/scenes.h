// Where the scenes of a video begin, to the frame, and the parts that they are cut into. Detectors after
// PySceneDetect's published definitions. Used by video/ingest before clips are decoded.
//
// Note [detectors]: content: the change of a frame reaches 27. adaptive: it is at least 15, and at least 3
// times the mean change of the two frames before and after. A cut less than 0.6 s after the last one is none;
// the file's beginning counts as no cut, so that a foreign frame at the start is cut off. A flash of up to
// three frames, after which the picture is what it was, is no cut. Dissolves are not found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "video/analysis/content_change.h"
#include "video/media/decode.h"

namespace zoetrope {

/// How cuts are looked for.
enum class SceneDetector { kNone, kContent, kAdaptive };
/// From "none", "content", "adaptive", and back. Throws: UsageError.
SceneDetector scene_detector_of(const std::string& name);
const char* name_of(SceneDetector detector);

/// First frame of a new scene.
struct SceneCut {
  int64_t frame = 0;  ///< presentation index
  Ratio time;         ///< seconds after the file's first presented frame, exact
  double score = 0;   ///< its change
  bool operator==(const SceneCut&) const = default;
};

/// What a file was found to consist of.
struct FileScenes {
  int64_t num_frames = 0;
  Ratio last_time;  ///< of the last frame
  std::vector<SceneCut> cuts;
};

/// Cuts among frames with these changes and times.
std::vector<SceneCut> find_cuts(const std::vector<ContentChange>& changes, const std::vector<Ratio>& times,
                                SceneDetector detector);
/// Decodes a file once, within the limits of `rules`, and finds its cuts. A file that is refused has no
/// frames. Throws: Error naming the file when the watchdog ended its decode.
FileScenes find_scenes(const MediaLocation& location, SceneDetector detector, DecodeRules rules = {});
/// The scenes as windows, exact to the frame; one longer than `max_seconds` becomes equal parts that are not:
/// nothing is lost, and no short rest is left over.
std::vector<Window> windows_of(const FileScenes& scenes, double max_seconds);

}  // namespace zoetrope
