// When each decoded frame is shown: its timestamp, or what stands for it where the container has none, never
// going backwards, and which packet it came from. Used by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "video/media/media_file.h"

namespace zoetrope {

/// A frame's time in ticks of the stream, and its packet's number in decoding order.
struct FrameTime {
  int64_t tick = 0, order = 0;
};

class FrameClock {
 public:
  explicit FrameClock(const MediaFile& file);
  /// Takes note of the next packet in decoding order.
  void note_packet(int64_t pts, int64_t dts, int64_t duration);
  int64_t num_packets() const { return packets_; }
  /// Time of the next decoded frame as its file gives it; it may lie before the one before.
  FrameTime time_of(const AVFrame& frame) const;
  /// Takes the time of the next presented frame. One that lies before the last frame's is moved up to it, and
  /// the answer is true; one that lies further back than frames are reordered starts a new part of the file,
  /// which follows one frame later.
  bool advance(FrameTime& time);
  /// How often timestamps started over.
  int64_t num_splices() const { return splices_; }
  /// Counts a decoded frame; call it once for each, before `time_of`.
  void count_decoded() { ++decoded_; }
  /// End of the frame that was presented last, by its own duration or the stream's rate.
  int64_t end_of(const AVFrame& frame, int64_t tick) const;
  bool started() const { return started_; }
  int64_t first_tick() const { return first_tick_; }
  int64_t last_tick() const { return last_tick_; }
  /// Latest end of a packet's time, or the last frame's time when that is later.
  int64_t last_end() const;
  /// Ticks from the first frame on, in seconds.
  double seconds(int64_t ticks) const;

 private:
  int64_t frame_ticks() const;
  int64_t unwrapped(int64_t tick) const;

  const AVCodecContext& decoder_;
  bool decoding_times_only_;
  int64_t period_;  ///< of the container's clock, or 0
  AVRational base_;
  double average_fps_;
  std::map<int64_t, int64_t> order_by_time_;  ///< packet timestamp -> number in decoding order
  std::vector<int64_t> decoding_times_;       ///< of packets, where they stand for presentation times
  int64_t packets_ = 0, decoded_ = 0, packet_end_ = 0;
  bool started_ = false;
  int64_t first_tick_ = 0, last_tick_ = 0, last_step_ = 0;
  int64_t shift_ = 0, splices_ = 0;  ///< from a packet's timestamp to the timeline, since the last splice
};

}  // namespace zoetrope
