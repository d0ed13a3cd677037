#include "video/media/frame_clock.h"

#include <algorithm>

namespace zoetrope {
namespace {

constexpr size_t kRememberedPackets = 4096;  // far more than any decoder holds back

}  // namespace

FrameClock::FrameClock(const MediaFile& file)
    : decoding_times_only_(file.has_decoding_times_only()),
      base_(file.stream().time_base),
      average_fps_(file.facts().average_fps) {}

void FrameClock::note_packet(const AVPacket& packet) {
  const int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (decoding_times_only_) decoding_times_.push_back(packet.dts != AV_NOPTS_VALUE ? packet.dts : packets_);
  if (time != AV_NOPTS_VALUE) {
    order_by_time_[time] = packets_;
    if (order_by_time_.size() > kRememberedPackets) order_by_time_.erase(order_by_time_.begin());
    packet_end_ = std::max(packet_end_, time + std::max<int64_t>(packet.duration, 0));
  }
  ++packets_;
}

FrameTime FrameClock::time_of(const AVFrame& frame) const {
  const auto found =
      order_by_time_.find(frame.pts != AV_NOPTS_VALUE ? frame.pts : frame.best_effort_timestamp);
  const int64_t order = found == order_by_time_.end() ? packets_ - 1 : found->second;
  const size_t index = size_t(decoded_ - 1);
  const int64_t next = started_ ? last_tick_ + frame_ticks() : 0;
  if (decoding_times_only_)
    return {index < decoding_times_.size() ? decoding_times_[index] : last_tick_ + frame_ticks(), order};
  return {frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : next, order};
}

bool FrameClock::advance(FrameTime& time) {
  const bool backwards = started_ && time.tick < last_tick_;
  if (backwards) time.tick = last_tick_;
  if (!started_) first_tick_ = time.tick;
  else last_step_ = time.tick - last_tick_;
  started_ = true;
  last_tick_ = time.tick;
  return backwards;
}

/// One frame at the stream's average rate, or the last distance between frames.
int64_t FrameClock::frame_ticks() const {
  int64_t length = last_step_;
  if (average_fps_ > 0) length = int64_t(double(base_.den) / (double(base_.num) * average_fps_) + 0.5);
  return std::max<int64_t>(length, 1);
}

int64_t FrameClock::end_of(const AVFrame& frame, int64_t tick) const {
  const int64_t length = decoding_times_only_ ? last_step_ : libav::duration_of(frame);
  return tick + (length > 0 ? length : frame_ticks());
}

int64_t FrameClock::last_end() const { return std::max(packet_end_, last_tick_); }

double FrameClock::seconds(int64_t ticks) const {
  return double(ticks) * double(base_.num) / double(base_.den);
}

}  // namespace zoetrope
