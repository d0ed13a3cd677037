#include "video/media/decode.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <set>

#include "core/check.h"
#include "video/media/media_file.h"
#include "video/media/window_sampler.h"

namespace zoetrope {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr size_t kRememberedPackets = 4096;  // far more than any decoder holds back

/// Decodes one file; samplers take what they need.
class FileDecoder {
 public:
  FileDecoder(const std::string& path, const DecodeRules& rules, const std::vector<Window>& windows)
      : file_(path), rules_(rules), converter_(rules.size), facts_(file_.facts()), held_(libav::new_frame()) {
    const AVRational base = file_.stream().time_base;
    time_base_ = {base.num, base.den};
    for (const Window& window : windows) samplers_.emplace_back(window, rules_, time_base_);
  }

  void run() {
    const libav::Packet packet = libav::new_packet();
    while (file_.read(*packet, end_error_)) {
      note_packet(*packet);
      if (!done_) decode(packet.get(), facts_.packets - 1);
    }
    decode(nullptr, facts_.packets);
    if (holding_) show_held(end_of_held());
    end_run();
  }

  std::vector<DecodedClip> results();
  SourceFacts facts() const;

 private:
  void note_packet(const AVPacket& packet);
  void decode(const AVPacket* packet, int64_t order);
  void take_frame(AVFrame& frame);
  bool joins_run(const AVFrame& frame, int64_t order, int64_t tick, bool damaged);
  void start_run(int64_t tick);
  void end_run();
  void hold(AVFrame& frame, int64_t order, int64_t tick);
  void show_held(int64_t end_tick);
  int64_t end_of_held() const;
  int64_t frame_ticks() const;
  int64_t tick_of(const AVFrame& frame) const;
  int64_t order_of(const AVFrame& frame) const;
  void note_bad(int64_t order, int64_t tick);
  std::array<int, 2> stream_aspect() const {
    return {file_.stream().sample_aspect_ratio.num, file_.stream().sample_aspect_ratio.den};
  }
  double seconds(int64_t tick) const {
    return double(tick) * double(time_base_.num) / double(time_base_.den);
  }
  std::string empty_reason(const WindowSampler& sampler) const;
  void describe_cuts(const WindowSampler& sampler, DecodedClip& out) const;

  MediaFile file_;
  const DecodeRules& rules_;
  FrameConverter converter_;
  SourceFacts facts_;
  std::vector<WindowSampler> samplers_;
  Ratio time_base_;
  std::map<int64_t, int64_t> order_by_time_;  ///< packet timestamp -> number in decoding order
  std::vector<int64_t> decoding_times_;       ///< of packets, where they stand for presentation times
  std::set<int64_t> bad_orders_;
  int64_t packet_end_ = 0;  ///< latest end of a packet's time
  std::string end_error_, first_error_;

  libav::Frame held_;  ///< the frame on show, until the next one's time is known
  PlacedFrame held_place_;
  bool holding_ = false, in_run_ = false, done_ = false;
  int64_t first_tick_ = kNever, last_tick_ = 0, last_step_ = 0;
  int64_t bad_order_ = kNever, bad_tick_ = kNever;  ///< first damage since the run began
  int64_t last_bad_order_ = -1;
  std::vector<uint8_t> rgb_;
};

void FileDecoder::note_packet(const AVPacket& packet) {
  const int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (file_.has_decoding_times_only())
    decoding_times_.push_back(packet.dts != AV_NOPTS_VALUE ? packet.dts : facts_.packets);
  if (time != AV_NOPTS_VALUE) {
    order_by_time_[time] = facts_.packets;
    if (order_by_time_.size() > kRememberedPackets) order_by_time_.erase(order_by_time_.begin());
    packet_end_ = std::max(packet_end_, time + std::max<int64_t>(packet.duration, 0));
  }
  ++facts_.packets;
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) note_bad(facts_.packets - 1, time);
}

void FileDecoder::note_bad(int64_t order, int64_t tick) {
  bad_orders_.insert(order);
  facts_.damaged = int64_t(bad_orders_.size());
  bad_order_ = std::min(bad_order_, order);
  last_bad_order_ = std::max(last_bad_order_, order);
  if (tick != AV_NOPTS_VALUE && !file_.has_decoding_times_only()) bad_tick_ = std::min(bad_tick_, tick);
}

void FileDecoder::decode(const AVPacket* packet, int64_t order) {
  libav::LogCatcher log;
  const int64_t tick = packet == nullptr ? AV_NOPTS_VALUE : packet->pts;
  const auto check = [&](int code) {
    if (code >= 0 || code == AVERROR(EAGAIN) || code == AVERROR_EOF) return code;
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    const std::string logged = log.take();
    if (first_error_.empty()) first_error_ = logged.empty() ? libav::error_text(code) : logged;
    note_bad(order, tick);
    return code;
  };
  check(avcodec_send_packet(&file_.decoder(), packet));
  const libav::Frame frame = libav::new_frame();
  for (int failures = 0; failures < 100;) {
    const int code = check(avcodec_receive_frame(&file_.decoder(), frame.get()));
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) break;
    if (code < 0) {
      ++failures;
      continue;
    }
    if (first_error_.empty()) first_error_ = log.take();
    take_frame(*frame);
  }
}

int64_t FileDecoder::tick_of(const AVFrame& frame) const {
  const size_t index = size_t(facts_.decoded - 1);
  if (file_.has_decoding_times_only())
    return index < decoding_times_.size() ? decoding_times_[index] : last_tick_ + frame_ticks();
  if (frame.best_effort_timestamp != AV_NOPTS_VALUE) return frame.best_effort_timestamp;
  return first_tick_ == kNever ? 0 : last_tick_ + frame_ticks();
}

int64_t FileDecoder::order_of(const AVFrame& frame) const {
  const auto found =
      order_by_time_.find(frame.pts != AV_NOPTS_VALUE ? frame.pts : frame.best_effort_timestamp);
  return found == order_by_time_.end() ? facts_.packets - 1 : found->second;
}

void FileDecoder::take_frame(AVFrame& frame) {
  ++facts_.decoded;
  const int64_t order = order_of(frame);
  const bool damaged = frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
  if (damaged) note_bad(order, AV_NOPTS_VALUE);
  if (done_) return;
  int64_t tick = tick_of(frame);
  if (first_tick_ != kNever && tick < last_tick_) {
    tick = last_tick_;
    ++facts_.out_of_order;
  }
  if (libav::is_interlaced(frame)) ++facts_.interlaced;
  if (first_tick_ == kNever) first_tick_ = tick;
  else last_step_ = tick - last_tick_;
  last_tick_ = tick;
  ++facts_.presented;
  if (holding_) show_held(tick);
  holding_ = false;
  if (joins_run(frame, order, tick, damaged)) hold(frame, order, tick);
  done_ = in_run_ &&
          std::all_of(samplers_.begin(), samplers_.end(), [](const WindowSampler& s) { return s.is_full(); });
}

/// Ends the run at damage, and starts the next one at a sound key frame after it.
bool FileDecoder::joins_run(const AVFrame& frame, int64_t order, int64_t tick, bool damaged) {
  if (in_run_ && (damaged || order > bad_order_ || tick >= bad_tick_)) end_run();
  if (in_run_) return true;
  const bool first_frame = facts_.decoded == 1 && facts_.damaged == 0;
  if (damaged || (!first_frame && !(libav::is_key(frame) && order > last_bad_order_))) return false;
  start_run(tick);
  return true;
}

void FileDecoder::start_run(int64_t tick) {
  in_run_ = true;
  bad_order_ = bad_tick_ = kNever;
  for (WindowSampler& sampler : samplers_) sampler.start_run(first_tick_, tick);
}

void FileDecoder::end_run() {
  if (in_run_)
    for (WindowSampler& sampler : samplers_) sampler.end_run(bad_order_);
  in_run_ = false;
}

void FileDecoder::hold(AVFrame& frame, int64_t order, int64_t tick) {
  converter_.prepare(frame, libav::display_matrix_of(file_.stream()), stream_aspect());
  av_frame_unref(held_.get());
  av_frame_move_ref(held_.get(), &frame);
  held_place_ = {tick, tick, false, facts_.presented - 1, order};
  holding_ = true;
}

/// One frame at the stream's average rate, or the last distance between frames.
int64_t FileDecoder::frame_ticks() const {
  int64_t length = last_step_;
  if (facts_.average_fps > 0)
    length = int64_t(double(time_base_.den) / (double(time_base_.num) * facts_.average_fps) + 0.5);
  return std::max<int64_t>(length, 1);
}

int64_t FileDecoder::end_of_held() const {
  const int64_t length = file_.has_decoding_times_only() ? last_step_ : libav::duration_of(*held_);
  return held_place_.tick + (length > 0 ? length : frame_ticks());
}

void FileDecoder::show_held(int64_t end_tick) {
  held_place_.end_tick = end_tick;
  held_place_.still = file_.is_still();
  rgb_.clear();
  for (WindowSampler& sampler : samplers_) {
    if (sampler.count_shown(held_place_) == 0) continue;
    if (rgb_.empty()) {
      rgb_.resize(size_t(converter_.target().width * converter_.target().height * 3));
      converter_.convert(*held_, libav::display_matrix_of(file_.stream()), stream_aspect(), rgb_.data());
    }
    sampler.add(held_place_, rgb_);
  }
}

std::string FileDecoder::empty_reason(const WindowSampler& sampler) const {
  const std::string error = first_error_.empty() ? "" : ": " + first_error_;
  if (facts_.packets == 0)
    return join_message("no video frames in the file",
                        facts_.declared > 0 ? join_message(", its header declares ", facts_.declared) : "",
                        end_error_.empty() ? "" : ": " + end_error_);
  if (facts_.decoded == 0)
    return join_message("none of ", facts_.packets, " packets could be decoded", error);
  if (facts_.damaged > 0 && sampler.window().start == 0)
    return join_message("no sound frame: ", facts_.damaged, " decode errors in ", facts_.packets, " packets",
                        error);
  return join_message("nothing to show between ", sampler.window().start, " s and ", sampler.window().end,
                      " s; the video is ", seconds(last_tick_ - first_tick_), " s long");
}

void FileDecoder::describe_cuts(const WindowSampler& sampler, DecodedClip& out) const {
  if (facts_.damaged > 0)
    out.cuts.push_back(join_message("decode errors (", facts_.damaged, " in ", facts_.packets, " packets",
                                    first_error_.empty() ? "" : ", first: " + first_error_,
                                    "): the longest run of sound frames is kept, from ",
                                    sampler.sources().front().source_seconds, " s to ",
                                    sampler.sources().back().source_seconds, " s"));
  const bool cut_file = !end_error_.empty() || (file_.declares_exactly() && facts_.declared > facts_.packets);
  if (cut_file)
    out.cuts.push_back(
        join_message("the file ends early: ", facts_.packets, " packets",
                     facts_.declared > 0 ? join_message(" of ", facts_.declared, " declared frames") : "",
                     end_error_.empty() ? "" : " (" + end_error_ + ")"));
  out.found_damage = facts_.damaged > 0 || cut_file;
  if (converter_.size_changed())
    out.cuts.push_back(
        "the picture's size or rotation changes within the file; later pictures are fitted to the first");
  if (sampler.was_limited_by_length(std::max(packet_end_, last_tick_)))
    out.cuts.push_back(join_message("only the first ", rules_.max_seconds, " s (--max-seconds) of ",
                                    sampler.window().start > 0 ? "the window, " : "",
                                    seconds(std::max(packet_end_, last_tick_) - first_tick_), " s of video"));
}

SourceFacts FileDecoder::facts() const {
  SourceFacts facts = facts_;
  if (first_tick_ == kNever) return facts;
  facts.first_seconds = seconds(first_tick_);
  facts.last_seconds = seconds(last_tick_);
  facts.shown_width = converter_.shown_width();
  facts.shown_height = converter_.shown_height();
  facts.rotation = converter_.orientation().rotation();
  facts.mirrored = converter_.orientation().mirrored();
  facts.pixel_aspect = converter_.pixel_aspect();
  facts.color_matrix = converter_.matrix();
  facts.color_range = converter_.range();
  facts.color_guessed = converter_.guessed_color();
  facts.crop_loss = converter_.target().crop_loss;
  return facts;
}

std::vector<DecodedClip> FileDecoder::results() {
  std::vector<DecodedClip> out;
  for (WindowSampler& sampler : samplers_) {
    DecodedClip each;
    each.facts = facts();
    if (sampler.sources().empty()) {
      each.refused = empty_reason(sampler);
      each.found_damage = facts_.damaged > 0;
    } else {
      describe_cuts(sampler, each);
      each.clip = sampler.take();
      each.clip.width = converter_.target().width;
      each.clip.height = converter_.target().height;
    }
    out.push_back(std::move(each));
  }
  return out;
}

/// The same refusal for every window.
std::vector<DecodedClip> refuse_all(const std::string& reason, const SourceFacts& facts, size_t count) {
  DecodedClip refused;
  refused.refused = reason;
  refused.facts = facts;
  return std::vector<DecodedClip>(count, refused);
}

}  // namespace

std::vector<DecodedClip> decode_file(const std::string& path, const DecodeRules& rules,
                                     const std::vector<Window>& windows) {
  const std::vector<Window> all = windows.empty() ? std::vector<Window>{{}} : windows;
  std::optional<FileDecoder> decoder;
  const auto refuse = [&](const std::string& reason) {
    return refuse_all(reason, decoder ? decoder->facts() : SourceFacts{}, all.size());
  };
  try {
    decoder.emplace(path, rules, all);
    decoder->run();
    return decoder->results();
  } catch (const Error& error) { return refuse(error.what()); } catch (const std::bad_alloc&) {
    return refuse("out of memory while decoding; lower --workers, --max-seconds or --area");
  }
}

}  // namespace zoetrope
