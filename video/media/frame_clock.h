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
  void note_packet(const AVPacket& packet);
  int64_t num_packets() const { return packets_; }
  /// Time of the next decoded frame as its file gives it; it may lie before the one before.
  FrameTime time_of(const AVFrame& frame) const;
  /// Takes the time of the next presented frame, and moves it up to that of the one before when it goes
  /// backwards. True when it did.
  bool advance(FrameTime& time);
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

  bool decoding_times_only_;
  AVRational base_;
  double average_fps_;
  std::map<int64_t, int64_t> order_by_time_;  ///< packet timestamp -> number in decoding order
  std::vector<int64_t> decoding_times_;       ///< of packets, where they stand for presentation times
  int64_t packets_ = 0, decoded_ = 0, packet_end_ = 0;
  bool started_ = false;
  int64_t first_tick_ = 0, last_tick_ = 0, last_step_ = 0;
};

}  // namespace zoetrope
