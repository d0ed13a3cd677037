// How much each frame of a video differs from the one before, as PySceneDetect's content detector counts it:
// the mean absolute difference of hue, saturation and value. Used by video/analysis/scenes.
//
// Note [scene working picture]: 256 pixels along the longer side by bilinear sampling without smoothing, in
// HSV of 8 bits (hue 0 to 179), because the published threshold of 27 was chosen on just that picture; on a
// smoothed one, texture in motion counts for less.
#pragma once

#include <cstdint>
#include <memory>

struct AVFrame;

namespace zoetrope {

/// A frame against those before it.
struct ContentChange {
  double score = 0;  ///< mean of the three differences, 0 to 255; 0 for the first frame
  /// Number of frames that a flash lasted which ends here: this frame looks again like the one before the
  /// flash. 0: no flash.
  int flash_frames = 0;
};

/// Longest run of foreign frames that counts as a flash and not as a scene.
constexpr int kLongestFlash = 3;
/// Changes below this are no cuts of either detector, so no flash is looked for.
constexpr double kLeastCutScore = 15;

class ContentMeter {
 public:
  ContentMeter();
  ~ContentMeter();
  /// Takes the next frame. A frame of another size than the last is compared at the first one's size.
  /// Throws: Error when libswscale can't read its format.
  ContentChange observe(const AVFrame& frame);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
