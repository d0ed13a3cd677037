#include "video/media/encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/files.h"
#include "video/media/libav.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace zoetrope {
namespace {

using namespace libav;

constexpr int kBorder = 2;  // pixels between the frames of a contact sheet

struct CloseMuxer {
  void operator()(AVFormatContext* muxer) const {
    uint8_t* bytes = nullptr;
    if (muxer->pb != nullptr) avio_close_dyn_buf(muxer->pb, &bytes);
    av_free(bytes);
    avformat_free_context(muxer);
  }
};
using Muxer = std::unique_ptr<AVFormatContext, CloseMuxer>;

/// Copies RGB rows into a frame that may be one pixel wider or higher: last column and row repeat.
void fill_rgb(AVFrame& frame, const uint8_t* rgb, int64_t height, int64_t width) {
  for (int64_t y = 0; y < frame.height; ++y) {
    uint8_t* to = frame.data[0] + y * frame.linesize[0];
    std::memcpy(to, rgb + std::min(y, height - 1) * width * 3, size_t(width * 3));
    for (int64_t x = width; x < frame.width; ++x) std::memcpy(to + 3 * x, to + 3 * (width - 1), 3);
  }
}

/// Encodes MP4 in memory.
class Mp4Encoder {
 public:
  explicit Mp4Encoder(const Clip& clip) {
    const AVCodec* codec = avcodec_find_encoder_by_name("libx264");
    if (codec == nullptr) codec = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    ZT_REQUIRE(codec != nullptr, "this build of libavcodec has neither libx264 nor mpeg4");
    name_ = codec->name;
    open_codec(*codec, clip);
    open_muxer();
    const int width = codec_->width, height = codec_->height;
    scaler_.reset(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, AV_PIX_FMT_YUV420P,
                                 SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_BITEXACT, nullptr,
                                 nullptr, nullptr));
    ZT_REQUIRE(scaler_ != nullptr, "swscale can't convert ", width, "x", height, " RGB");
    const int* matrix = sws_getCoefficients(SWS_CS_ITU709);
    sws_setColorspaceDetails(scaler_.get(), matrix, 1, matrix, 0, 0, 1 << 16, 1 << 16);
    rgb_ = new_picture(AV_PIX_FMT_RGB24, height, width);
  }

  void add(const uint8_t* rgb, const Clip& clip, int64_t index) {
    fill_rgb(*rgb_, rgb, clip.height, clip.width);
    const Frame yuv = new_picture(AV_PIX_FMT_YUV420P, codec_->height, codec_->width);
    sws_scale(scaler_.get(), rgb_->data, rgb_->linesize, 0, codec_->height, yuv->data, yuv->linesize);
    yuv->pts = index;
    send(yuv.get());
  }

  std::string finish() {
    send(nullptr);
    require(av_write_trailer(muxer_.get()), "can't finish the MP4");
    uint8_t* bytes = nullptr;
    const int size = avio_close_dyn_buf(muxer_->pb, &bytes);
    muxer_->pb = nullptr;
    std::string file(reinterpret_cast<const char*>(bytes), size_t(size));
    av_free(bytes);
    return file;
  }
  const std::string& name() const { return name_; }

 private:
  void open_codec(const AVCodec& codec, const Clip& clip) {
    codec_.reset(avcodec_alloc_context3(&codec));
    codec_->width = int(clip.width + clip.width % 2);
    codec_->height = int(clip.height + clip.height % 2);
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    codec_->framerate = av_d2q(clip.fps, 60000);
    codec_->time_base = av_inv_q(codec_->framerate);
    codec_->colorspace = AVCOL_SPC_BT709;
    codec_->color_primaries = AVCOL_PRI_BT709;
    codec_->color_trc = AVCOL_TRC_BT709;
    codec_->color_range = AVCOL_RANGE_MPEG;
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
    codec_->thread_count = 1;  // the same bytes on any machine
    if (name_ == "libx264") {
      av_opt_set(codec_->priv_data, "crf", "14", 0);
    } else {
      codec_->flags |= AV_CODEC_FLAG_QSCALE;
      codec_->global_quality = 2 * FF_QP2LAMBDA;
    }
    require(avcodec_open2(codec_.get(), &codec, nullptr), "can't open the encoder " + name_);
  }

  void open_muxer() {
    AVFormatContext* muxer = nullptr;
    require(avformat_alloc_output_context2(&muxer, nullptr, "mp4", nullptr), "no MP4 muxer");
    muxer_.reset(muxer);
    muxer_->flags |= AVFMT_FLAG_BITEXACT;
    stream_ = avformat_new_stream(muxer, nullptr);
    if (stream_ == nullptr) throw std::bad_alloc();
    require(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "can't describe the stream");
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    require(avio_open_dyn_buf(&muxer_->pb), "can't make a buffer");
    require(avformat_write_header(muxer, nullptr), "can't start the MP4");
  }

  void send(const AVFrame* frame) {
    require(avcodec_send_frame(codec_.get(), frame), "can't encode");
    const Packet packet = new_packet();
    for (;;) {
      const int code = avcodec_receive_packet(codec_.get(), packet.get());
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
      require(code, "can't encode");
      if (packet->duration == 0) packet->duration = 1;
      av_packet_rescale_ts(packet.get(), codec_->time_base, stream_->time_base);
      packet->stream_index = stream_->index;
      require(av_write_frame(muxer_.get(), packet.get()), "can't write the MP4");
    }
  }

  std::string name_;
  Codec codec_;
  Muxer muxer_;
  AVStream* stream_ = nullptr;
  Scaler scaler_;
  Frame rgb_;
};

std::string encode_png(const uint8_t* rgb, int64_t height, int64_t width) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  ZT_REQUIRE(codec != nullptr, "this build of libavcodec has no PNG encoder");
  const Codec context(avcodec_alloc_context3(codec));
  context->width = int(width);
  context->height = int(height);
  context->pix_fmt = AV_PIX_FMT_RGB24;
  context->time_base = {1, 25};
  context->thread_count = 1;
  require(avcodec_open2(context.get(), codec, nullptr), "can't open the PNG encoder");
  const Frame frame = new_picture(AV_PIX_FMT_RGB24, height, width);
  fill_rgb(*frame, rgb, height, width);
  require(avcodec_send_frame(context.get(), frame.get()), "can't encode PNG");
  require(avcodec_send_frame(context.get(), nullptr), "can't encode PNG");
  const Packet packet = new_packet();
  require(avcodec_receive_packet(context.get(), packet.get()), "can't encode PNG");
  return {reinterpret_cast<const char*>(packet->data), size_t(packet->size)};
}

/// Runs `make` and names the file in what it throws.
template <class Make>
auto naming_file(const std::string& path, Make&& make) {
  const LogCatcher log;
  try {
    return make();
  } catch (const Error& error) { throw Error(join_message("'", path, "': ", error.what())); }
}

}  // namespace

std::string write_mp4(const std::string& path, const Clip& clip) {
  return write_mp4(path, clip, [&](int64_t index) { return clip.frame(index); });
}

std::string write_mp4(const std::string& path, const Clip& clip,
                      const std::function<const uint8_t*(int64_t index)>& frame) {
  ZT_REQUIRE(clip.num_frames > 0 && clip.height > 0 && clip.width > 0 && clip.fps > 0, "'", path,
             "': a video needs frames, got ", clip.num_frames, " of ", clip.width, "x", clip.height, " at ",
             clip.fps, " fps");
  return naming_file(path, [&] {
    Mp4Encoder encoder(clip);
    for (int64_t index = 0; index < clip.num_frames; ++index) encoder.add(frame(index), clip, index);
    write_file_atomically(path, encoder.finish());
    return encoder.name();
  });
}

void write_png(const std::string& path, const uint8_t* rgb, int64_t height, int64_t width) {
  ZT_REQUIRE(height > 0 && width > 0, "'", path, "': a picture of ", width, "x", height, " pixels");
  naming_file(path, [&] {
    write_file_atomically(path, encode_png(rgb, height, width));
    return 0;
  });
}

void write_contact_sheet(const std::string& path, const Clip& clip, int64_t max_frames) {
  ZT_CHECK(max_frames >= 1, "a contact sheet of ", max_frames, " frames");
  const int64_t shown = std::min(max_frames, clip.num_frames);
  ZT_REQUIRE(shown > 0, "'", path, "': the clip has no frames");
  const int64_t columns = int64_t(std::ceil(std::sqrt(double(shown)))),
                rows = (shown + columns - 1) / columns;
  const int64_t height = rows * (clip.height + kBorder) + kBorder,
                width = columns * (clip.width + kBorder) + kBorder;
  std::vector<uint8_t> sheet(size_t(height * width * 3), 32);
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t index = shown == 1 ? 0 : i * (clip.num_frames - 1) / (shown - 1);
    const int64_t top = kBorder + i / columns * (clip.height + kBorder),
                  left = kBorder + i % columns * (clip.width + kBorder);
    for (int64_t y = 0; y < clip.height; ++y)
      std::memcpy(&sheet[size_t(((top + y) * width + left) * 3)], clip.frame(index) + y * clip.width * 3,
                  size_t(clip.width * 3));
  }
  write_png(path, sheet.data(), height, width);
}

}  // namespace zoetrope
