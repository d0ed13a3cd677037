#include "video/media/animated_webp.h"

#include <webp/demux.h>

#include <cstring>
#include <new>
#include <utility>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int64_t kMostPixels = int64_t(1) << 26;  // of the canvas, as of the data set's own frames

struct FreeDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

}  // namespace

struct AnimatedWebp::State {
  std::string bytes;
  std::unique_ptr<WebPAnimDecoder, FreeDecoder> decoder;  ///< reads `bytes`
  WebPAnimInfo info{};
  int64_t next = 0, next_time = 0;
};

bool AnimatedWebp::has_signature(const std::string& head) {
  constexpr char kAnimated = 2;
  return head.size() > 20 && head.compare(0, 4, "RIFF") == 0 && head.compare(8, 8, "WEBPVP8X") == 0 &&
         (head[20] & kAnimated) != 0;
}

AnimatedWebp::AnimatedWebp(std::string bytes) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.bytes = std::move(bytes);
  const WebPData data{reinterpret_cast<const uint8_t*>(s.bytes.data()), s.bytes.size()};
  int width = 0, height = 0;
  ZT_REQUIRE(WebPGetInfo(data.bytes, data.size, &width, &height) != 0,
             "an animated WebP with a broken header");
  ZT_REQUIRE(int64_t(width) * height <= kMostPixels, "an animated WebP of ", width, "x", height,
             " pixels; expected at most ", kMostPixels);
  WebPAnimDecoderOptions options;
  WebPAnimDecoderOptionsInit(&options);
  options.color_mode = MODE_RGBA;
  s.decoder.reset(WebPAnimDecoderNew(&data, &options));
  ZT_REQUIRE(s.decoder && WebPAnimDecoderGetInfo(s.decoder.get(), &s.info) != 0,
             "an animated WebP that is cut off or damaged");
}

AnimatedWebp::~AnimatedWebp() = default;

void AnimatedWebp::describe(AVStream& stream) const {
  AVCodecParameters& codec = *stream.codecpar;
  codec.codec_type = AVMEDIA_TYPE_VIDEO;
  codec.codec_id = AV_CODEC_ID_RAWVIDEO;
  codec.format = AV_PIX_FMT_RGBA;
  codec.width = int(state_->info.canvas_width);
  codec.height = int(state_->info.canvas_height);
  stream.time_base = {1, 1000};
  stream.nb_frames = state_->info.frame_count;
}

bool AnimatedWebp::read(AVPacket& packet, std::string& error) {
  State& s = *state_;
  av_packet_unref(&packet);
  if (s.next >= int64_t(s.info.frame_count)) return false;
  uint8_t* picture = nullptr;
  int end_time = 0;
  if (WebPAnimDecoderGetNext(s.decoder.get(), &picture, &end_time) == 0) {
    error = join_message("WebP picture ", s.next, " of ", s.info.frame_count, " can't be decoded");
    return false;
  }
  const size_t size = size_t(s.info.canvas_width) * s.info.canvas_height * 4;
  if (av_new_packet(&packet, int(size)) < 0) throw std::bad_alloc();
  std::memcpy(packet.data, picture, size);
  packet.pts = packet.dts = s.next_time;
  packet.duration = end_time - s.next_time;
  packet.flags |= AV_PKT_FLAG_KEY;
  s.next_time = end_time;
  ++s.next;
  return true;
}

}  // namespace zoetrope
