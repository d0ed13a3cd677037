// When each decoded frame is shown: its timestamp, or what stands for it where the container has none, never
// going backwards, and which packet it came from. Used by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "video/media/media_file.h"

namespace zoetrope {

/// A frame's time in ticks of the stream, and its packet's number in decoding order.
struct FrameTime {
  int64_t tick = 0, order = 0;
};

/// What a frame's time says of its file.
enum class ClockStep {
  kOnward,         ///< it follows the frame before
  kMovedUp,        ///< it lay before the last frame's and was moved up to it
  kSameTime,       ///< it has the last frame's time: of the two only this one is ever shown
  kContradiction,  ///< the order of times is not that of the pictures: one of the two is damaged
};

class FrameClock {
 public:
  explicit FrameClock(const MediaFile& file);
  /// Takes note of the next packet in decoding order.
  void note_packet(int64_t pts, int64_t dts, int64_t duration);
  int64_t num_packets() const { return packets_; }
  /// Time of the next decoded frame as its file gives it; it may lie before the one before.
  FrameTime time_of(const AVFrame& frame) const;
  /// Takes the time of the next presented frame and puts it on the timeline. A time that lies further back
  /// than frames are reordered starts a new part of the file, which follows one frame later, unless the next
  /// frame goes on where the file was.
  ClockStep advance(FrameTime& time);
  /// After a contradiction: the first packet, in decoding order, whose picture or time may be the wrong one.
  int64_t first_doubtful_order() const { return doubtful_order_; }
  /// Whether the last frame came much later than the one before it: its time may yet prove damaged.
  bool jumped() const { return shown_.size() > 1 && is_far_back(shown_[shown_.size() - 2].tick, last_tick_); }
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
  bool is_far_back(int64_t tick, int64_t from) const;
  bool ends_lone_splice(FrameTime& time);
  ClockStep go_back(FrameTime& time);
  void splice(FrameTime& time);
  ClockStep doubt_from(const FrameTime& time);

  const AVCodecContext& decoder_;
  bool decoding_times_only_;
  int64_t period_;  ///< of the container's clock, or 0
  AVRational base_;
  double average_fps_;
  std::map<int64_t, int64_t> order_by_time_;  ///< packet timestamp -> number in decoding order
  std::vector<int64_t> decoding_times_;       ///< of packets, where they stand for presentation times
  int64_t packets_ = 0, decoded_ = 0, packet_end_ = 0;
  int64_t latest_packet_ = 0;  ///< latest timestamp of a packet so far
  bool reorders_ = false;  ///< a packet's time lay before an earlier packet's: they are presentation times
  std::deque<FrameTime> shown_;  ///< the last presented frames, as many as may be reordered and two
  int64_t doubtful_order_ = 0;
  bool started_ = false;
  int64_t first_tick_ = 0, last_tick_ = 0, last_step_ = 0;
  int64_t shift_ = 0, splices_ = 0;  ///< from a packet's timestamp to the timeline, since the last splice
  int64_t shift_before_ = 0;         ///< the last splice
  bool just_spliced_ = false;
};

}  // namespace zoetrope
