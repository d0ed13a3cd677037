#include "video/media/file_decoder.h"

#include <new>

#include "core/check.h"
#include "video/media/decode_verdict.h"
#include "video/media/sparse_reader.h"
#include "video/media/wanted_frames.h"

namespace zoetrope {

FileDecoder::FileDecoder(const MediaLocation& location, const DecodeRules& rules,
                         const std::vector<Window>& windows, const FrameObserver& observe, FrameKind kind,
                         const OpenTokenSink& open_sink)
    : meter_(rules.limits, rules.clip_seconds),
      file_(location, meter_),
      rules_(rules),
      observe_(observe),
      facts_(file_.facts()),
      clock_(file_),
      shown_(file_, rules, windows, kind, open_sink) {}

bool FileDecoder::run_sparse() {
  if (rules_.deinterlace || shown_.needs_every_frame() || !may_skip_groups(file_, shown_.samplers(), rules_))
    return false;
  has_read_ = true;
  try {
    return run_indexed();
  } catch (const LimitReached&) {
    return false;  // a decode from the start may need less
  }
}

bool FileDecoder::run_indexed() {
  const FrameIndex index(file_);
  if (!index.linear_reason().empty()) return false;
  const std::vector<int64_t> wanted = wanted_frames(index, shown_.samplers(), bool(observe_));
  if (!skips_groups(index, wanted, file_.decoder().has_b_frames)) return false;
  for (const IndexedPacket& packet : index.packets())
    clock_.note_packet(packet.pts, packet.dts, packet.duration);
  facts_.packets = clock_.num_packets();
  libav::LogCatcher log;
  SparseReader reader(file_, index);
  const libav::Frame picture = libav::new_frame();
  auto next = wanted.begin();
  for (int64_t i = 0; i < index.num_frames() && !done_; ++i) {
    const bool is_wanted = next != wanted.end() && *next == i;
    if (is_wanted && !reader.read(i, *picture)) return false;
    next += is_wanted;
    present({index.tick(i), index.order(i)}, is_wanted ? picture.get() : nullptr, false);
  }
  facts_.decoded = reader.num_decoded();
  facts_.jumps = reader.num_jumps();
  if (rules_.meter != nullptr) {
    for (const IndexedPacket& packet : index.packets()) rules_.meter->packet_bytes += packet.size;
    rules_.meter->frames += reader.num_decoded();
  }
  finish();
  return true;
}

void FileDecoder::run() {
  const libav::Packet packet = libav::new_packet();
  has_read_ = true;
  try {
    while (file_.read(*packet, end_error_)) {
      note_packet(*packet);
      if (!done_) decode(packet.get(), facts_.packets - 1);
    }
  } catch (const LimitReached& limit) {
    if (!done_) throw;
    limit_ = limit.what();
  }
  decode(nullptr, facts_.packets);
  finish();
}

void FileDecoder::finish() {
  if (const AVFrame* last = shown_.held()) shown_.show_until(clock_.end_of(*last, shown_.held_place().tick));
  end_run();
}

void FileDecoder::note_packet(const AVPacket& packet) {
  if (rules_.meter != nullptr) rules_.meter->packet_bytes += packet.size;
  clock_.note_packet(packet.pts, packet.dts, packet.duration);
  facts_.packets = clock_.num_packets();
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0)
    note_bad(facts_.packets - 1, packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts);
}

void FileDecoder::note_bad(int64_t order, int64_t tick) {
  damage_.note_bad(order, file_.has_decoding_times_only() ? AV_NOPTS_VALUE : tick);
  facts_.damaged = damage_.num_bad();
}

void FileDecoder::decode(const AVPacket* packet, int64_t order) {
  libav::LogCatcher log;
  const int64_t tick = packet == nullptr ? AV_NOPTS_VALUE : packet->pts;
  const auto check = [&](int code) {
    if (code == AVERROR(ENOMEM) && memory_is_short()) throw std::bad_alloc();
    const bool failed = code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF;
    // Many decoders patch over damage, without a word but in the log.
    const std::string logged = log.take();
    if (!failed && logged.empty()) return code;
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
    if (rules_.deinterlace) deinterlacer_.put(*frame);
    else take_frame(*frame);
    take_deinterlaced();
    log.take();  // what the conversion said
  }
  if (packet == nullptr) deinterlacer_.finish();
  take_deinterlaced();
}

void FileDecoder::take_deinterlaced() {
  const libav::Frame frame = libav::new_frame();
  while (deinterlacer_.take(*frame)) take_frame(*frame);
}

void FileDecoder::take_frame(AVFrame& frame) {
  ++facts_.decoded;
  if (rules_.meter != nullptr) ++rules_.meter->frames;
  clock_.count_decoded();
  FrameTime time = clock_.time_of(frame);
  const bool damaged = frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
  if (damaged) note_bad(time.order, AV_NOPTS_VALUE);
  if (!done_) present(time, &frame, damaged);
}

/// Puts the next frame on the timeline. `picture`: null when no window shows it.
void FileDecoder::present(FrameTime time, AVFrame* picture, bool damaged) {
  if (picture != nullptr) {
    meter_.count_frame(libav::picture_bytes(*picture));
    changes_.note(*picture);
  }
  const ClockStep step = clock_.advance(time);
  if (step != ClockStep::kOnward) ++facts_.out_of_order;
  if (step == ClockStep::kContradiction) {
    if (first_error_.empty()) first_error_ = "timestamps contradict the order of the pictures";
    note_bad(clock_.first_doubtful_order(), AV_NOPTS_VALUE);
    damaged = true;
  }
  if (picture != nullptr && libav::is_interlaced(*picture)) ++facts_.interlaced;
  ++facts_.presented;
  if (picture != nullptr) show_to_observer(*picture, time.tick);
  shown_.show_until(time.tick);
  if (damage_.ends_before(time, damaged)) end_run();
  if (!damage_.in_run()) {
    const bool first = facts_.presented == 1;
    if (!damage_.can_start(time, damaged, first, picture != nullptr && libav::is_key(*picture))) return;
    damage_.start_run();
    shown_.start_run(clock_.first_tick(), time.tick);
  }
  if (picture != nullptr)
    shown_.hold(*picture, {time.tick, time.tick, file_.is_still(), facts_.presented - 1, time.order});
  done_ = shown_.all_full() && !clock_.jumped();
}

void FileDecoder::show_to_observer(const AVFrame& frame, int64_t tick) const {
  if (!observe_) return;
  const AVRational base = file_.stream().time_base;
  Ratio time{0, base.den};
  ZT_REQUIRE(!__builtin_sub_overflow(tick, clock_.first_tick(), &time.num) &&
                 !__builtin_mul_overflow(time.num, base.num, &time.num),
             "timestamps ", clock_.first_tick(), " and ", tick, " in one file can't be right");
  observe_(frame, {facts_.presented - 1, time, orientation_of(libav::display_matrix_of(file_.stream()))});
}

void FileDecoder::end_run() {
  if (damage_.in_run()) shown_.end_run(damage_.first_bad_order());
  damage_.end_run();
}

SourceFacts FileDecoder::facts() const {
  SourceFacts facts = facts_;
  facts.size_changes = changes_.sizes();
  facts.format_changes = changes_.formats();
  if (!clock_.started()) return facts;
  const FrameConverter& converter = shown_.converter();
  facts.first_seconds = clock_.seconds(clock_.first_tick());
  facts.last_seconds = clock_.seconds(clock_.last_tick());
  facts.shown_width = converter.shown_width();
  facts.shown_height = converter.shown_height();
  facts.rotation = converter.orientation().rotation();
  facts.mirrored = converter.orientation().mirrored();
  facts.pixel_aspect = converter.pixel_aspect();
  facts.color_matrix = converter.matrix();
  facts.color_range = converter.range();
  facts.color_guessed = converter.guessed_color();
  facts.color_steps = converter.color_steps();
  facts.crop_loss = converter.target().crop_loss;
  return facts;
}

std::vector<DecodedTokens> FileDecoder::results() {
  const SourceFacts found = facts();
  const DecodeOutcome outcome{found,      clock_,       shown_.converter(), rules_, file_.declares_exactly(),
                              end_error_, first_error_, changes_.text(),    limit_};
  std::vector<DecodedTokens> out;
  for (WindowSampler& sampler : shown_.samplers()) out.push_back(decoded_clip(outcome, sampler));
  return out;
}

}  // namespace zoetrope
