#include "video/media/sparse_reader.h"

namespace zoetrope {
namespace {

// A jump that skips fewer packets than this costs more than it saves: it drops what the decoder holds.
constexpr int64_t kLeastSkipped = 8;

}  // namespace

SparseReader::SparseReader(MediaFile& file, const FrameIndex& index)
    : file_(file), index_(index), packet_(libav::new_packet()) {}

bool SparseReader::jumps(const FrameIndex& index, int64_t frame, int64_t order, int delay) {
  return index.key_of(frame) > order + delay + kLeastSkipped;
}

bool SparseReader::land(int64_t key, int64_t timestamp) {
  std::string error;
  if (!file_.seek(timestamp) || !file_.read(*packet_, error)) return false;
  const IndexedPacket& wanted = index_.packets()[size_t(key)];
  return packet_->pts == wanted.pts && packet_->pos == wanted.pos && has_size_of(wanted) &&
         (packet_->flags & AV_PKT_FLAG_KEY) != 0;
}

/// In streams without a header a zero byte between two pictures belongs to the one or the other, as the
/// demuxer came along.
bool SparseReader::has_size_of(const IndexedPacket& packet) const {
  return file_.has_no_header() || packet_->size == packet.size;
}

bool SparseReader::seek(int64_t key) {
  const IndexedPacket& wanted = index_.packets()[size_t(key)];
  const bool by_pts = file_.seeks_by_presentation();
  if (!land(key, by_pts ? wanted.pts : wanted.dts) && !land(key, by_pts ? wanted.dts : wanted.pts))
    return false;
  next_packet_ = key;
  first_tick_ = wanted.pts;
  next_frame_ = index_.first_frame_at(first_tick_);
  waiting_ = at_key_ = true;
  return true;
}

/// Sends the next packet, or the end, to the decoder.
bool SparseReader::send_next() {
  std::string error;
  if (!waiting_ && !file_.read(*packet_, error))
    return error.empty() && next_packet_ == int64_t(index_.packets().size()) &&
           avcodec_send_packet(&file_.decoder(), nullptr) >= 0;
  if (next_packet_ >= int64_t(index_.packets().size())) return false;
  const IndexedPacket& expected = index_.packets()[size_t(next_packet_++)];
  waiting_ = false;
  if (packet_->pts != expected.pts || !has_size_of(expected)) return false;
  const int code = avcodec_send_packet(&file_.decoder(), packet_.get());
  return code >= 0 || expected.pts < first_tick_;
}

/// Whether the decoder gave the frame that the index has next.
bool SparseReader::is_expected(const AVFrame& frame) {
  if (frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0) return false;
  if (next_frame_ >= index_.num_frames() || index_.tick(next_frame_) != frame.pts) return false;
  // A recovery point without an intra picture is no place to start at.
  if (at_key_ && frame.pts == first_tick_ && !(libav::is_key(frame) && frame.pict_type == AV_PICTURE_TYPE_I))
    return false;
  at_key_ = false;
  ++next_frame_;
  return true;
}

bool SparseReader::read(int64_t frame, AVFrame& out) {
  const int delay = file_.decoder().has_b_frames;
  if (next_packet_ < 0 || jumps(index_, frame, next_packet_ - 1, delay)) {
    jumps_ += next_packet_ >= 0;
    if (!seek(index_.key_of(frame))) return false;
  }
  // Damage that a decoder patches over is only logged. What is shown before the key frame may lack
  // references.
  libav::LogCatcher log;
  const auto found_damage = [&] {
    return !log.take().empty() && index_.packets()[size_t(next_packet_ - 1)].pts >= first_tick_;
  };
  for (;;) {
    const int code = avcodec_receive_frame(&file_.decoder(), &out);
    if (next_packet_ > 0 && found_damage()) return false;
    if (code == AVERROR(EAGAIN)) {
      if (!send_next() || found_damage()) return false;
      continue;
    }
    if (code < 0) return false;
    ++decoded_;
    if (out.pts < first_tick_) continue;
    if (!is_expected(out)) return false;
    if (next_frame_ - 1 == frame) return true;
  }
}

}  // namespace zoetrope
