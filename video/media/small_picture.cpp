#include "video/media/small_picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "video/media/libav.h"

namespace zoetrope {
namespace {

using namespace libav;

constexpr int kScaling = SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_BITEXACT;

/// RGB to RGB or to full-range YUV as JPEG has it.
void scale(const uint8_t* rgb, int64_t height, int64_t width, AVFrame& to) {
  const Scaler scaler(sws_getContext(int(width), int(height), AV_PIX_FMT_RGB24, to.width, to.height,
                                     AVPixelFormat(to.format), kScaling, nullptr, nullptr, nullptr));
  ZT_REQUIRE(scaler != nullptr, "swscale can't turn ", width, "x", height, " RGB into ", to.width, "x",
             to.height);
  const int* matrix = sws_getCoefficients(SWS_CS_ITU601);
  sws_setColorspaceDetails(scaler.get(), matrix, 1, matrix, 1, 0, 1 << 16, 1 << 16);
  // swscale may read a little past a line's end.
  std::vector<uint8_t> padded(size_t(height * width * 3 + 64));
  std::memcpy(padded.data(), rgb, size_t(height * width * 3));
  const uint8_t* planes[4] = {padded.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {int(width * 3), 0, 0, 0};
  sws_scale(scaler.get(), planes, strides, 0, int(height), to.data, to.linesize);
}

}  // namespace

Picture shrink_to_fit(const uint8_t* rgb, int64_t height, int64_t width, int64_t box_height,
                      int64_t box_width) {
  ZT_CHECK(height > 0 && width > 0 && box_height > 0 && box_width > 0, "a picture of ", width, "x", height);
  const double shrink =
      std::min({1.0, double(box_height) / double(height), double(box_width) / double(width)});
  Picture out;
  out.height = std::clamp<int64_t>(std::llround(double(height) * shrink), 1, box_height);
  out.width = std::clamp<int64_t>(std::llround(double(width) * shrink), 1, box_width);
  out.pixels.resize(size_t(out.height * out.width * 3));
  if (out.height == height && out.width == width) {
    std::memcpy(out.pixels.data(), rgb, out.pixels.size());
    return out;
  }
  const Frame small = new_picture(AV_PIX_FMT_RGB24, out.height, out.width);
  scale(rgb, height, width, *small);
  for (int64_t y = 0; y < out.height; ++y)
    std::memcpy(&out.pixels[size_t(y * out.width * 3)], small->data[0] + y * small->linesize[0],
                size_t(out.width * 3));
  return out;
}

void paste(Picture& onto, const Picture& picture, int64_t top, int64_t left) {
  const int64_t columns = std::min(picture.width, onto.width - left);
  if (columns <= 0) return;
  for (int64_t y = 0; y < picture.height && top + y < onto.height; ++y)
    std::memcpy(&onto.pixels[size_t(((top + y) * onto.width + left) * 3)],
                &picture.pixels[size_t(y * picture.width * 3)], size_t(columns * 3));
}

Picture side_by_side(const std::vector<Picture>& pictures) {
  Picture strip;
  for (const Picture& picture : pictures) {
    strip.height = std::max(strip.height, picture.height);
    strip.width += picture.width + (strip.width > 0 ? kPictureGap : 0);
  }
  strip.pixels.assign(size_t(strip.height * strip.width * 3), kPictureBackground);
  int64_t left = 0;
  for (const Picture& picture : pictures) {
    paste(strip, picture, (strip.height - picture.height) / 2, left);
    left += picture.width + kPictureGap;
  }
  return strip;
}

std::string encode_jpeg(const Picture& picture, int quality) {
  const LogCatcher log;
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  ZT_REQUIRE(codec != nullptr, "this build of libavcodec has no JPEG encoder");
  const Codec context(avcodec_alloc_context3(codec));
  context->width = int(picture.width);
  context->height = int(picture.height);
  context->pix_fmt = AV_PIX_FMT_YUVJ420P;
  context->color_range = AVCOL_RANGE_JPEG;
  context->time_base = {1, 25};
  context->thread_count = 1;  // the same bytes on any machine
  context->flags |= AV_CODEC_FLAG_BITEXACT | AV_CODEC_FLAG_QSCALE;
  context->global_quality = quality * FF_QP2LAMBDA;
  require(avcodec_open2(context.get(), codec, nullptr), "can't open the JPEG encoder");
  const Frame frame = new_picture(AV_PIX_FMT_YUVJ420P, picture.height, picture.width);
  scale(picture.pixels.data(), picture.height, picture.width, *frame);
  frame->quality = context->global_quality;
  frame->color_range = AVCOL_RANGE_JPEG;
  require(avcodec_send_frame(context.get(), frame.get()), "can't encode JPEG");
  require(avcodec_send_frame(context.get(), nullptr), "can't encode JPEG");
  const Packet packet = new_packet();
  require(avcodec_receive_packet(context.get(), packet.get()), "can't encode JPEG");
  return {reinterpret_cast<const char*>(packet->data), size_t(packet->size)};
}

}  // namespace zoetrope
