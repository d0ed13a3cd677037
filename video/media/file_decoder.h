// One pass over a media file: packets to frames to the timeline, sound runs alone, shown frames to the
// windows. The loop of video/media/decode; what it is made of:
//
//   MediaFile  packets ->  decoder  frames ->  FrameClock  times ->  DamageRuns  sound ->  ShownFrames
#pragma once

#include <string>
#include <vector>

#include "video/media/damage_runs.h"
#include "video/media/decode.h"
#include "video/media/frame_clock.h"
#include "video/media/limits.h"
#include "video/media/media_file.h"
#include "video/media/shown_frames.h"
#include "video/media/stream_changes.h"

namespace zoetrope {

class FileDecoder {
 public:
  /// Opens the file. Throws: Error whose text is the reason to refuse it.
  FileDecoder(const std::string& path, const DecodeRules& rules, const std::vector<Window>& windows);
  /// Decodes it to its end, or until all windows are full. Throws: as the constructor.
  void run();
  /// A clip per window; once, after `run`.
  std::vector<DecodedClip> results();
  /// What is known of the file by now.
  SourceFacts facts() const;

 private:
  void run_linear();
  void note_packet(const AVPacket& packet);
  void decode(const AVPacket* packet, int64_t order);
  void take_frame(AVFrame& frame);
  void note_bad(int64_t order, int64_t tick);
  void end_run();

  WorkMeter meter_;
  MediaFile file_;
  const DecodeRules& rules_;
  SourceFacts facts_;
  FrameClock clock_;
  DamageRuns damage_;
  ShownFrames shown_;
  StreamChanges changes_;
  std::string end_error_, first_error_;
  std::string limit_;  ///< that ended the counting after all windows were full
  bool done_ = false;  ///< all windows are full
};

}  // namespace zoetrope
