#include "tests/support/linear_decode.h"

#include <algorithm>

#include "core/check.h"
#include "core/content_hash.h"
#include "video/media/libav.h"

namespace zoetrope::testing_support {
namespace {

__extension__ typedef __int128 Wide;

struct CloseInput {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
};

/// One decode by the book.
class Decoder {
 public:
  Decoder(const std::string& path, const SizeRule& size) : converter_(size) {
    AVFormatContext* format = nullptr;
    libav::require(avformat_open_input(&format, path.c_str(), nullptr, nullptr), path);
    format_.reset(format);
    libav::require(avformat_find_stream_info(format, nullptr), path);
    for (unsigned i = 0; i < format->nb_streams && stream_ == nullptr; ++i)
      if (format->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
          (format->streams[i]->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0)
        stream_ = format->streams[i];
    ZT_CHECK(stream_ != nullptr, path, ": no video stream");
    const AVCodec* codec = avcodec_find_decoder(stream_->codecpar->codec_id);
    codec_.reset(avcodec_alloc_context3(codec));
    libav::require(avcodec_parameters_to_context(codec_.get(), stream_->codecpar), path);
    codec_->thread_count = 1;
    codec_->pkt_timebase = stream_->time_base;
    // Streams that don't state their reorder depth are in order then.
    if (codec->id == AV_CODEC_ID_H264) codec_->strict_std_compliance = FF_COMPLIANCE_STRICT;
    libav::require(avcodec_open2(codec_.get(), codec, nullptr), path);
    // AVI keeps no presentation times: the n-th frame is shown at the time of the n-th packet.
    counts_ = std::string(format->iformat->name) == "avi";
    out_.time_base = {stream_->time_base.num, stream_->time_base.den};
  }

  LinearDecode run() {
    const libav::Packet packet = libav::new_packet();
    for (;;) {
      av_packet_unref(packet.get());
      const int code = av_read_frame(format_.get(), packet.get());
      if (code < 0) break;
      if (packet->stream_index == stream_->index) decode(packet.get());
    }
    decode(nullptr);
    return std::move(out_);
  }

 private:
  void decode(const AVPacket* packet) {
    if (packet != nullptr) packet_times_.push_back(packet->dts);
    avcodec_send_packet(codec_.get(), packet);
    const libav::Frame frame = libav::new_frame();
    while (avcodec_receive_frame(codec_.get(), frame.get()) >= 0) take(*frame);
  }

  void take(const AVFrame& frame) {
    const AVRational rate = stream_->avg_frame_rate.num > 0 ? stream_->avg_frame_rate : stream_->r_frame_rate;
    const int64_t step = rate.num > 0 ? av_rescale_q(1, av_inv_q(rate), stream_->time_base) : 1;
    int64_t tick = frame.best_effort_timestamp;
    if (counts_) tick = packet_times_.at(out_.ticks.size());
    if (tick == AV_NOPTS_VALUE) tick = out_.ticks.empty() ? 0 : out_.ticks.back() + step;
    int64_t duration = libav::duration_of(frame);
    if (counts_) duration = out_.ticks.empty() ? 0 : tick - out_.ticks.back();
    out_.ticks.push_back(tick);
    out_.end_tick = tick + (duration > 0 ? duration : step);
    const int32_t* matrix = libav::display_matrix_of(*stream_);
    const std::array<int, 2> aspect{stream_->sample_aspect_ratio.num, stream_->sample_aspect_ratio.den};
    converter_.prepare(frame, matrix, aspect);
    std::string rgb(size_t(converter_.target().width * converter_.target().height * 3), '\0');
    converter_.convert(frame, matrix, aspect, reinterpret_cast<uint8_t*>(rgb.data()));
    out_.pictures.push_back(content_hash(rgb));
  }

  std::unique_ptr<AVFormatContext, CloseInput> format_;
  AVStream* stream_ = nullptr;
  libav::Codec codec_;
  bool counts_ = false;
  std::vector<int64_t> packet_times_;
  FrameConverter converter_;
  LinearDecode out_;
};

}  // namespace

std::vector<int64_t> LinearDecode::shown(Ratio start, Ratio end, Ratio fps) const {
  std::vector<int64_t> out;
  for (int64_t k = 0;; ++k) {
    // time = start + k / fps
    const Wide num = Wide(start.num) * fps.num + Wide(k) * fps.den * start.den,
               den = Wide(start.den) * fps.num;
    if (num * end.den >= Wide(end.num) * den) return out;
    const auto is_after = [&](int64_t tick) {
      return Wide(tick - ticks[0]) * time_base.num * den > num * time_base.den;
    };
    if (!is_after(end_tick)) {  // at or after the end of the last frame
      return out;
    }
    const auto after = std::find_if(ticks.begin(), ticks.end(), is_after);
    out.push_back(std::max<int64_t>(0, after - ticks.begin() - 1));
  }
}

LinearDecode decode_linearly(const std::string& path, const SizeRule& size) {
  return Decoder(path, size).run();
}

}  // namespace zoetrope::testing_support
