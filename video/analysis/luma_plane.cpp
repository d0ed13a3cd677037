#include "video/analysis/luma_plane.h"

#include "core/check.h"
#include "video/media/libav.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace zoetrope {
namespace {

/// How luma lies in plane 0.
struct LumaLayout {
  int step = 1, offset = 0, depth = 8, shift = 0;
};

/// Whether plane 0 holds luma in whole bytes or 16-bit words of this machine.
bool find_luma(const AVPixFmtDescriptor& format, LumaLayout& layout) {
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                              AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BE |
                              AV_PIX_FMT_FLAG_BAYER;
  const AVComponentDescriptor& luma = format.comp[0];
  layout = {luma.step, luma.offset, luma.depth, luma.shift};
  if ((format.flags & kOther) != 0 || luma.plane != 0) return false;
  return luma.depth == 8 ? luma.shift == 0 : luma.depth > 8 && luma.depth + luma.shift <= 16;
}

bool is_full_range(const AVFrame& frame, const AVPixFmtDescriptor& format) {
  if (frame.color_range != AVCOL_RANGE_UNSPECIFIED) return frame.color_range == AVCOL_RANGE_JPEG;
  return format.nb_components < 3 || std::string(format.name).starts_with("yuvj");
}

void copy_row(const uint8_t* in, const LumaLayout& layout, int64_t width, uint8_t* out) {
  if (layout.depth == 8) {
    for (int64_t x = 0; x < width; ++x) out[x] = in[x * layout.step + layout.offset];
    return;
  }
  const int drop = layout.shift + layout.depth - 8;
  if (layout.step == 2 && layout.offset == 0) {  // the common case, which the compiler vectorises
    const auto* words = reinterpret_cast<const uint16_t*>(in);
    for (int64_t x = 0; x < width; ++x) out[x] = uint8_t(words[x] >> drop);
    return;
  }
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* at = in + x * layout.step + layout.offset;
    out[x] = uint8_t((at[0] | at[1] << 8) >> drop);
  }
}

}  // namespace

/// Kept between frames of one size and format.
struct LumaReader::Scaler {
  libav::Scaler context;
  int width = 0, height = 0, format = -1;
};

LumaReader::LumaReader() : scaler_(std::make_unique<Scaler>()) {}
LumaReader::~LumaReader() = default;

LumaPlane LumaReader::read(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  ZT_REQUIRE(format != nullptr && frame.width > 0 && frame.height > 0, "a picture without format or size");
  LumaPlane plane{nullptr, frame.width, frame.width, frame.height, 0, 255};
  LumaLayout layout;
  const bool has_luma = find_luma(*format, layout);
  if (has_luma && !is_full_range(frame, *format)) plane.black = 16, plane.white = 235;
  if (has_luma && layout.depth == 8 && layout.step == 1) {
    plane.data = frame.data[0] + layout.offset;
    plane.stride = frame.linesize[0];
    return plane;
  }
  copy_.resize(size_t(plane.width * plane.height));
  plane.data = copy_.data();
  if (has_luma) {
    for (int64_t y = 0; y < plane.height; ++y)
      copy_row(frame.data[0] + y * frame.linesize[0], layout, plane.width, copy_.data() + y * plane.width);
    return plane;
  }
  if (scaler_->width != frame.width || scaler_->height != frame.height || scaler_->format != frame.format) {
    scaler_->context.reset(sws_getContext(frame.width, frame.height, AVPixelFormat(frame.format), frame.width,
                                          frame.height, AV_PIX_FMT_GRAY8, SWS_POINT, nullptr, nullptr,
                                          nullptr));
    ZT_REQUIRE(scaler_->context, "libswscale can't read pixel format ", format->name);
    scaler_->width = frame.width, scaler_->height = frame.height, scaler_->format = frame.format;
  }
  uint8_t* out[4] = {copy_.data(), nullptr, nullptr, nullptr};
  const int stride[4] = {frame.width, 0, 0, 0};
  libav::require(sws_scale(scaler_->context.get(), frame.data, frame.linesize, 0, frame.height, out, stride),
                 "libswscale");
  return plane;
}

}  // namespace zoetrope
