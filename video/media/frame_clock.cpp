#include "video/media/frame_clock.h"

#include <algorithm>

namespace zoetrope {
namespace {

constexpr int64_t kFarthest = int64_t(1) << 61;  // broken files hold any number; sums of these still fit

int64_t clamped(int64_t ticks) { return std::clamp(ticks, -kFarthest, kFarthest); }

constexpr size_t kRememberedPackets = 4096;  // far more than any decoder holds back

}  // namespace

FrameClock::FrameClock(const MediaFile& file)
    : decoder_(file.decoder()),
      decoding_times_only_(file.has_decoding_times_only()),
      period_(file.clock_period()),
      base_(file.stream().time_base),
      average_fps_(file.facts().average_fps) {}

void FrameClock::note_packet(int64_t pts, int64_t dts, int64_t duration) {
  const int64_t time = pts != AV_NOPTS_VALUE ? pts : dts;
  if (decoding_times_only_) decoding_times_.push_back(dts != AV_NOPTS_VALUE ? dts : packets_);
  if (time != AV_NOPTS_VALUE) {
    if (pts != AV_NOPTS_VALUE) {
      reorders_ =
          reorders_ || (packets_ > 0 && pts < latest_packet_ && !is_far_back(clamped(pts), latest_packet_));
      latest_packet_ = clamped(pts);
    }
    order_by_time_[time] = packets_;
    if (order_by_time_.size() > kRememberedPackets) order_by_time_.erase(order_by_time_.begin());
    packet_end_ = std::max(packet_end_, clamped(time) + std::max<int64_t>(clamped(duration), 0));
  }
  ++packets_;
}

FrameTime FrameClock::time_of(const AVFrame& frame) const {
  const auto found =
      order_by_time_.find(frame.pts != AV_NOPTS_VALUE ? frame.pts : frame.best_effort_timestamp);
  const int64_t order = found == order_by_time_.end() ? packets_ - 1 : found->second;
  const size_t index = size_t(decoded_ - 1);
  int64_t time = decoding_times_only_ ? AV_NOPTS_VALUE : frame.best_effort_timestamp;
  // Where packets have presentation times, libav's guess would hide a picture that is out of its place.
  if (!decoding_times_only_ && reorders_ && frame.pts != AV_NOPTS_VALUE) time = frame.pts;
  if (decoding_times_only_ && index < decoding_times_.size()) time = decoding_times_[index];
  if (time == AV_NOPTS_VALUE) return {started_ ? clamped(last_tick_ + frame_ticks()) : 0, order};
  return {unwrapped(clamped(clamped(time) + shift_)), order};
}

/// The time that this tick means, by the container's clock, nearest to the last frame. libavformat itself
/// takes a clock that goes back by more than a minute for one that wrapped.
int64_t FrameClock::unwrapped(int64_t tick) const {
  if (!started_ || period_ == 0) return tick;
  if (tick - last_tick_ > period_ / 2) return tick - period_;
  return last_tick_ - tick > period_ / 2 ? tick + period_ : tick;
}

ClockStep FrameClock::advance(FrameTime& time) {
  ClockStep step = ClockStep::kOnward;
  if (ends_lone_splice(time)) step = ClockStep::kContradiction;
  else if (started_ && time.tick < last_tick_) step = go_back(time);
  else if (started_ && time.tick == last_tick_) step = ClockStep::kSameTime;
  if (!started_) first_tick_ = time.tick;
  else last_step_ = time.tick - last_tick_;
  started_ = true;
  last_tick_ = time.tick;
  shown_.push_back(time);
  if (shown_.size() > size_t(std::max(decoder_.has_b_frames, 0)) + 2) shown_.pop_front();
  return step;
}

bool FrameClock::is_far_back(int64_t tick, int64_t from) const {
  return (from - tick) / frame_ticks() > decoder_.has_b_frames + 1;
}

/// A time before the last frame's.
ClockStep FrameClock::go_back(FrameTime& time) {
  const bool far = is_far_back(time.tick, last_tick_);
  if ((far || reorders_) && shown_.size() > 1 && time.tick > shown_[shown_.size() - 2].tick) {
    // The last frame alone stood too late, and the one before it was shown for too long.
    last_tick_ = shown_[shown_.size() - 2].tick;
    doubtful_order_ = std::min({time.order, shown_.back().order, shown_[shown_.size() - 2].order});
    return ClockStep::kContradiction;
  }
  if (far) {
    splice(time);
    return ClockStep::kOnward;
  }
  const ClockStep step = reorders_ ? doubt_from(time) : ClockStep::kMovedUp;
  time.tick = last_tick_;
  return step;
}

/// Decoders give pictures in the order of presentation: this one's place or one after its time is wrong.
ClockStep FrameClock::doubt_from(const FrameTime& time) {
  doubtful_order_ = time.order;
  for (const FrameTime& shown : shown_)
    if (shown.tick >= time.tick) doubtful_order_ = std::min(doubtful_order_, shown.order);
  return ClockStep::kContradiction;
}

void FrameClock::splice(FrameTime& time) {
  const int64_t next = clamped(last_tick_ + frame_ticks());
  shift_before_ = shift_;
  shift_ += next - time.tick;
  time.tick = next;
  ++splices_;
  just_spliced_ = true;
}

/// Whether the last frame alone seemed to begin a new part: this one goes on after the frame before it.
bool FrameClock::ends_lone_splice(FrameTime& time) {
  if (!just_spliced_) return false;
  just_spliced_ = false;
  const int64_t tick = time.tick - shift_ + shift_before_;
  if (shown_.size() < 2 || tick <= shown_[shown_.size() - 2].tick) return false;
  shift_ = shift_before_;
  --splices_;
  time.tick = std::max(tick, last_tick_);
  doubtful_order_ = shown_.back().order;
  return true;
}

/// One frame at the stream's average rate, or the last distance between frames.
int64_t FrameClock::frame_ticks() const {
  int64_t length = last_step_;
  if (average_fps_ > 0) length = int64_t(double(base_.den) / (double(base_.num) * average_fps_) + 0.5);
  return std::clamp<int64_t>(length, 1, kFarthest);
}

int64_t FrameClock::end_of(const AVFrame& frame, int64_t tick) const {
  const int64_t length = decoding_times_only_ ? last_step_ : clamped(libav::duration_of(frame));
  return tick + (length > 0 ? length : frame_ticks());
}

int64_t FrameClock::last_end() const { return std::max(packet_end_, last_tick_); }

double FrameClock::seconds(int64_t ticks) const {
  return double(ticks) * double(base_.num) / double(base_.den);
}

}  // namespace zoetrope
