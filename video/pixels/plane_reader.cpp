#include "video/pixels/plane_reader.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace zoetrope::pixels {
namespace {

constexpr int kUnpackedBits = 15;

int64_t plane_side(int64_t side, int log2_subsampling) {
  return (side + (int64_t(1) << log2_subsampling) - 1) >> log2_subsampling;
}

bool is_chroma(const PixelFormat& format, int component) {
  return !format.is_rgb && format.planes == 3 && component > 0;
}

int64_t width_of(const PixelFormat& format, const AVFrame& frame, int component) {
  return plane_side(frame.width, is_chroma(format, component) ? format.about->log2_chroma_w : 0);
}

int64_t height_of(const PixelFormat& format, const AVFrame& frame, int component) {
  return plane_side(frame.height, is_chroma(format, component) ? format.about->log2_chroma_h : 0);
}

/// value / most as a fraction of alpha, rounded; both fit 16 bits.
uint16_t faded(int64_t value, int64_t black, int64_t alpha, int64_t most) {
  const int64_t product = (value - black) * alpha;
  return uint16_t(black + (product >= 0 ? (product + most / 2) / most : -((-product + most / 2) / most)));
}

}  // namespace

PixelFormat pixel_format_of(int format) {
  PixelFormat out;
  out.full_range = true;
  switch (format) {
    case AV_PIX_FMT_YUVJ411P: format = AV_PIX_FMT_YUV411P; break;
    case AV_PIX_FMT_YUVJ420P: format = AV_PIX_FMT_YUV420P; break;
    case AV_PIX_FMT_YUVJ422P: format = AV_PIX_FMT_YUV422P; break;
    case AV_PIX_FMT_YUVJ440P: format = AV_PIX_FMT_YUV440P; break;
    case AV_PIX_FMT_YUVJ444P: format = AV_PIX_FMT_YUV444P; break;
    default: out.full_range = false;
  }
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(AVPixelFormat(format));
  ZT_REQUIRE(about != nullptr, "pixel format number ", format, " is unknown to libavutil");
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
  // XYZ is neither RGB nor YUV; libavutil's description of uyyvyy411 doesn't say where its luma is.
  bool fits = (about->flags & kOther) == 0 && about->nb_components >= 1 && format != AV_PIX_FMT_XYZ12LE &&
              format != AV_PIX_FMT_XYZ12BE && format != AV_PIX_FMT_UYYVYY411;
  for (int c = 0; c < about->nb_components; ++c) fits = fits && about->comp[c].depth <= 16;
  ZT_REQUIRE(fits, "pixel format ", about->name,
             " can't be converted: expected RGB, YUV or grey integers of at most 16 bits; convert the clip");
  out.about = about;
  out.is_rgb = (about->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  out.has_alpha = (about->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)) != 0;
  out.is_inverted = format == AV_PIX_FMT_MONOWHITE;
  out.planes = !out.is_rgb && about->nb_components <= 2 ? 1 : 3;
  return out;
}

bool PlaneReader::is_in_place(int component) const {
  const AVComponentDescriptor& c = format_.about->comp[component];
  const bool big = (format_.about->flags & AV_PIX_FMT_FLAG_BE) != 0;
  if (format_.has_alpha || (format_.about->flags & AV_PIX_FMT_FLAG_BITSTREAM) != 0 || c.offset != 0)
    return false;
  if (c.depth == 8) return c.step == 1 && c.shift == 0;
  return c.depth > 8 && c.step == 2 && big == (std::endian::native == std::endian::big);
}

Plane PlaneReader::in_place(const AVFrame& frame, int component) const {
  const AVComponentDescriptor& c = format_.about->comp[component];
  Plane plane;
  plane.data = frame.data[c.plane];
  plane.line = frame.linesize[c.plane];
  plane.width = width_of(format_, frame, component);
  plane.height = height_of(format_, frame, component);
  plane.wide = c.depth > 8;
  plane.depth = c.depth;
  plane.bits = std::min(c.depth, kUnpackedBits);
  plane.shift = c.shift + c.depth - plane.bits;
  return plane;
}

/// Adds what hides behind alpha as black; `row` holds samples of the format's depth, and then of 15 bits.
void PlaneReader::put_on_black(const AVFrame& frame, int component, int64_t y, uint16_t* row, Plane& plane) {
  const AVPixFmtDescriptor& about = *format_.about;
  const int channel = about.nb_components - 1, depth = plane.depth;
  const int step_x = is_chroma(format_, component) ? 1 << about.log2_chroma_w : 1;
  const int step_y = is_chroma(format_, component) ? 1 << about.log2_chroma_h : 1;
  alpha_.resize(size_t(frame.width));
  av_read_image_line2(alpha_.data(), const_cast<const uint8_t**>(frame.data), frame.linesize, &about, 0,
                      int(std::min<int64_t>(y * step_y, frame.height - 1)), channel, frame.width, 0, 2);
  const int64_t most = (int64_t(1) << about.comp[channel].depth) - 1;
  const int64_t black = is_chroma(format_, component) ? int64_t(1) << (depth - 1)
                        : limited_                    ? int64_t(1) << (depth - 4)
                                                      : 0;
  const auto widened = [&](int64_t value) { return (value << kUnpackedBits) >> depth; };
  for (int64_t x = 0; x < plane.width; ++x)
    row[x] = faded(widened(row[x]), widened(black), alpha_[size_t(x * step_x)], most);
}

Plane PlaneReader::unpacked(const AVFrame& frame, int component) {
  const AVComponentDescriptor& c = format_.about->comp[component];
  const auto& flags = format_.about->flags;
  Plane plane;
  plane.width = width_of(format_, frame, component);
  plane.height = height_of(format_, frame, component);
  plane.wide = true;
  plane.depth = c.depth;
  plane.bits = format_.has_alpha ? kUnpackedBits : std::min(c.depth, kUnpackedBits);
  plane.shift = format_.has_alpha ? 0 : c.depth - plane.bits;
  plane.line = plane.width * 2;
  std::vector<uint16_t>& samples = samples_[size_t(component)];
  samples.resize(size_t(plane.width * plane.height));
  plane.data = reinterpret_cast<const uint8_t*>(samples.data());
  const bool bytes = c.depth == 8 && c.shift == 0 && (flags & AV_PIX_FMT_FLAG_BITSTREAM) == 0;
  for (int64_t y = 0; y < plane.height; ++y) {
    uint16_t* row = &samples[size_t(y * plane.width)];
    const uint8_t* from = frame.data[c.plane] + y * frame.linesize[c.plane] + c.offset;
    if (bytes)
      for (int64_t x = 0; x < plane.width; ++x) row[x] = from[x * c.step];
    else
      av_read_image_line2(row, const_cast<const uint8_t**>(frame.data), frame.linesize, format_.about, 0,
                          int(y), component, int(plane.width), 0, 2);
    if (format_.is_inverted)
      for (int64_t x = 0; x < plane.width; ++x) row[x] = uint16_t(1 - row[x]);
    if (format_.has_alpha) put_on_black(frame, component, y, row, plane);
  }
  return plane;
}

/// Fills samples_ with red, green and blue on black.
void PlaneReader::read_palette(const AVFrame& frame) {
  const size_t pixels = size_t(frame.width) * size_t(frame.height);
  for (auto& samples : samples_) samples.resize(pixels);
  const auto* palette = reinterpret_cast<const uint32_t*>(frame.data[1]);
  for (int64_t y = 0; y < frame.height; ++y)
    for (int64_t x = 0; x < frame.width; ++x) {
      const uint32_t argb = palette[frame.data[0][y * frame.linesize[0] + x]];
      for (int c = 0; c < 3; ++c)
        samples_[size_t(c)][size_t(y * frame.width + x)] =
            faded(int64_t((argb >> (16 - 8 * c)) & 255) << (kUnpackedBits - 8), 0, argb >> 24, 255);
    }
}

std::array<Plane, 3> PlaneReader::read(const AVFrame& frame) {
  std::array<Plane, 3> planes;
  if ((format_.about->flags & AV_PIX_FMT_FLAG_PAL) != 0) {
    ZT_REQUIRE(frame.data[1] != nullptr, "a picture of ", format_.about->name, " without its palette");
    read_palette(frame);
    for (int c = 0; c < 3; ++c)
      planes[size_t(c)] = {reinterpret_cast<const uint8_t*>(samples_[size_t(c)].data()),
                           frame.width * 2,
                           frame.width,
                           frame.height,
                           true,
                           0,
                           kUnpackedBits,
                           8};
    return planes;
  }
  for (int c = 0; c < format_.planes; ++c) {
    ZT_REQUIRE(frame.data[format_.about->comp[c].plane] != nullptr, "a picture of ", format_.about->name,
               " without its plane ", format_.about->comp[c].plane);
    planes[size_t(c)] = is_in_place(c) ? in_place(frame, c) : unpacked(frame, c);
  }
  for (int c = format_.planes; c < 3; ++c) planes[size_t(c)] = planes[0];
  return planes;
}

}  // namespace zoetrope::pixels
