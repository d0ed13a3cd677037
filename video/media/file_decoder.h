// One pass over a media file: packets to frames to the timeline, sound runs alone, shown frames to the
// windows. The loop of video/media/decode; what it is made of:
//
//   MediaFile  packets ->  decoder (-> Deinterlacer)  frames ->  FrameClock  times ->  DamageRuns  sound ->
//   ShownFrames
#pragma once

#include <string>
#include <vector>

#include "video/media/damage_runs.h"
#include "video/media/decode_tokens.h"
#include "video/media/deinterlacer.h"
#include "video/media/frame_clock.h"
#include "video/media/limits.h"
#include "video/media/media_file.h"
#include "video/media/shown_frames.h"
#include "video/media/stream_changes.h"

namespace zoetrope {

class FileDecoder {
 public:
  /// Opens the file. Throws: Error whose text is the reason to refuse it.
  FileDecoder(const MediaLocation& location, const DecodeRules& rules, const std::vector<Window>& windows,
              const FrameObserver& observe, FrameKind kind, const OpenTokenSink& open_sink);
  /// Decodes, by seeks, only what the windows show, when that skips whole groups of pictures. False: it must
  /// be decoded from its start, by a new FileDecoder if this one `has_read`. Throws: as the constructor.
  bool run_sparse();
  bool has_read() const { return has_read_; }
  /// Decodes it to its end, or until all windows are full. Throws: as the constructor.
  void run();
  /// A clip per window; once, after `run`.
  std::vector<DecodedTokens> results();
  /// What is known of the file by now.
  SourceFacts facts() const;

 private:
  bool run_indexed();
  void note_packet(const AVPacket& packet);
  void decode(const AVPacket* packet, int64_t order);
  void take_frame(AVFrame& frame);
  void take_deinterlaced();
  void present(FrameTime time, AVFrame* picture, bool damaged);
  void note_bad(int64_t order, int64_t tick);
  void show_to_observer(const AVFrame& frame, int64_t tick) const;
  void end_run();
  void finish();

  WorkMeter meter_;
  MediaFile file_;
  const DecodeRules& rules_;
  const FrameObserver& observe_;
  SourceFacts facts_;
  FrameClock clock_;
  DamageRuns damage_;
  ShownFrames shown_;
  StreamChanges changes_;
  Deinterlacer deinterlacer_;  ///< when asked for
  std::string end_error_, first_error_;
  std::string limit_;      ///< that ended the counting after all windows were full
  bool done_ = false;      ///< all windows are full
  bool has_read_ = false;  ///< packets were read
};

}  // namespace zoetrope
