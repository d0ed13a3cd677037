#include "tests/support/picture_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/check.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace zoetrope::testing_support {
namespace {

/// A component's samples as fractions of their format's meaning: luma and RGB 0 to 1, chroma -1/2 to 1/2.
struct RealPlane {
  int64_t width = 0, height = 0;
  double step_x = 1, step_y = 1;    ///< pixels per sample
  double first_x = 0, first_y = 0;  ///< centre of sample 0, in pixels from the picture's corner
  std::vector<double> values;
};

double kernel(double distance) {
  const double d = std::fabs(distance), d2 = d * d, d3 = d2 * d;
  return d <= 1 ? 1.5 * d3 - 2.5 * d2 + 1 : d < 2 ? -0.5 * d3 + 2.5 * d2 - 4 * d + 2 : 0;
}

/// Value of a row of `count` samples at a place in pixels; `scale`: pixels per output.
template <class Get>
double sample_at(double pixel, double scale, double step, double first, int64_t count, Get&& get) {
  const double place = (pixel - first) / step, width = std::max(1.0, scale / step);
  double sum = 0, total = 0;
  for (int64_t j = int64_t(std::floor(place - 2 * width)) - 1; double(j) <= place + 2 * width + 1; ++j) {
    const double weight = kernel((double(j) - place) / width);
    total += weight;
    sum += weight * get(std::min(std::max<int64_t>(j, 0), count - 1));
  }
  return sum / total;
}

/// The plane at outputs columns x rows; `px`, `py`: their centres in pixels.
std::vector<double> resampled(const RealPlane& plane, const std::vector<double>& px,
                              const std::vector<double>& py, double scale_x, double scale_y) {
  std::vector<double> wide(px.size() * size_t(plane.height)), out(px.size() * py.size());
  for (int64_t y = 0; y < plane.height; ++y)
    for (size_t x = 0; x < px.size(); ++x)
      wide[size_t(y) * px.size() + x] =
          sample_at(px[x], scale_x, plane.step_x, plane.first_x, plane.width,
                    [&](int64_t j) { return plane.values[size_t(y * plane.width + j)]; });
  for (size_t y = 0; y < py.size(); ++y)
    for (size_t x = 0; x < px.size(); ++x)
      out[y * px.size() + x] = sample_at(py[y], scale_y, plane.step_y, plane.first_y, plane.height,
                                         [&](int64_t j) { return wide[size_t(j) * px.size() + x]; });
  return out;
}

bool is_full(const AVFrame& frame, const AVPixFmtDescriptor& about) {
  const std::string name = about.name;
  return frame.color_range == AVCOL_RANGE_JPEG || name.starts_with("yuvj") ||
         (about.nb_components <= 2 && frame.color_range == AVCOL_RANGE_UNSPECIFIED);
}

bool is_rgb(const AVPixFmtDescriptor& about) {
  return (about.flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

/// Component c, on black where alpha hides it.
RealPlane real_plane(const RandomPicture& picture, int c) {
  const AVFrame& frame = *picture.frame;
  const AVPixFmtDescriptor& about = *av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  const bool chroma = c > 0 && !is_rgb(about), palette = (about.flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const int depth = palette ? 8 : about.comp[c].depth;
  const double unit = std::pow(2, depth - 8), most = std::pow(2, depth) - 1;
  RealPlane out;
  out.width = picture.sizes[size_t(c)][0], out.height = picture.sizes[size_t(c)][1];
  if (chroma) {
    out.step_x = 1 << about.log2_chroma_w, out.step_y = 1 << about.log2_chroma_h;
    const AVChromaLocation place = frame.chroma_location;
    const bool middle_x =
        place == AVCHROMA_LOC_CENTER || place == AVCHROMA_LOC_TOP || place == AVCHROMA_LOC_BOTTOM;
    const bool top = place == AVCHROMA_LOC_TOPLEFT || place == AVCHROMA_LOC_TOP;
    const bool bottom = place == AVCHROMA_LOC_BOTTOMLEFT || place == AVCHROMA_LOC_BOTTOM;
    out.first_x = middle_x ? out.step_x / 2 : 0.5;
    out.first_y = top ? 0.5 : bottom ? out.step_y - 0.5 : out.step_y / 2;
  } else {
    out.first_x = out.first_y = 0.5;
  }
  const bool limited = !is_rgb(about) && !is_full(frame, about),
             inverted = frame.format == AV_PIX_FMT_MONOWHITE;
  const int alpha = palette ? 3 : (about.flags & AV_PIX_FMT_FLAG_ALPHA) != 0 ? about.nb_components - 1 : -1;
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      double v = picture.samples[size_t(c)][size_t(y * out.width + x)];
      if (inverted) v = 1 - v;
      if (chroma) v = (v - 128 * unit) / (limited ? 224 * unit : most);
      else v = limited ? (v - 16 * unit) / (219 * unit) : v / most;
      if (alpha >= 0) {
        const int64_t ax = std::min<int64_t>(x * int64_t(out.step_x), frame.width - 1);
        const int64_t ay = std::min<int64_t>(y * int64_t(out.step_y), frame.height - 1);
        const int alpha_depth = palette ? 8 : about.comp[alpha].depth;
        v *= picture.samples[size_t(alpha)][size_t(ay * frame.width + ax)] / (std::pow(2, alpha_depth) - 1);
      }
      out.values.push_back(v);
    }
  return out;
}

/// Red and blue weights of luma.
std::array<double, 2> weights_of(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709: return {0.2126, 0.0722};
    case AVCOL_SPC_BT2020_NCL: return {0.2627, 0.0593};
    case AVCOL_SPC_SMPTE240M: return {0.212, 0.087};
    case AVCOL_SPC_FCC: return {0.3, 0.11};
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return {0.299, 0.114};
    default: return frame.height >= 720 ? std::array{0.2126, 0.0722} : std::array{0.299, 0.114};
  }
}

std::array<double, 3> colour_of(const AVFrame& frame, const AVPixFmtDescriptor& about, double a, double b,
                                double c) {
  if (is_rgb(about)) return {a, b, c};
  if (about.nb_components <= 2) return {a, a, a};
  if (frame.colorspace == AVCOL_SPC_YCGCO) return {a - b + c, a + b, a - b - c};
  const auto [red, blue] = weights_of(frame);
  const double r = a + 2 * (1 - red) * c, bl = a + 2 * (1 - blue) * b;
  return {r, (a - red * r - blue * bl) / (1 - red - blue), bl};
}

/// Centres of shown columns or rows in the coded picture's pixels.
std::vector<double> centres(int64_t coded, int64_t scaled, int64_t count, bool mirrored) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i + (scaled - count) / 2;
    out.push_back((double(mirrored ? scaled - 1 - at : at) + 0.5) * double(coded) / double(scaled));
  }
  return out;
}

}  // namespace

RandomPicture make_random_picture(AVPixelFormat format, int width, int height, uint64_t seed) {
  std::mt19937_64 random(seed);
  const AVPixFmtDescriptor& about = *av_pix_fmt_desc_get(format);
  RandomPicture out;
  out.frame = libav::new_frame();
  AVFrame& frame = *out.frame;
  frame.format = format, frame.width = width, frame.height = height;
  libav::require(av_frame_get_buffer(&frame, 0), "a picture's memory");
  for (AVBufferRef* buffer : frame.buf)
    if (buffer != nullptr) std::fill(buffer->data, buffer->data + buffer->size, 0);
  const bool palette = (about.flags & AV_PIX_FMT_FLAG_PAL) != 0;
  if (palette)
    for (int i = 0; i < 1024; ++i) frame.data[1][i] = uint8_t(random());
  for (int c = 0; c < (palette ? 4 : about.nb_components); ++c) {
    const bool chroma = (c == 1 || c == 2) && !is_rgb(about) && about.nb_components >= 3;
    const int shift_w = chroma ? about.log2_chroma_w : 0, shift_h = chroma ? about.log2_chroma_h : 0;
    const int w = -(-width >> shift_w), h = -(-height >> shift_h);
    out.sizes[size_t(c)] = {w, h};
    for (int y = 0; y < h; ++y) {
      std::vector<uint16_t> row;
      for (int x = 0; x < w; ++x) {
        if (palette) {
          uint8_t& index = frame.data[0][y * frame.linesize[0] + x];
          if (c == 0) index = uint8_t(random());
          uint32_t argb;
          std::memcpy(&argb, frame.data[1] + 4 * index, 4);
          row.push_back(uint16_t(argb >> (c == 3 ? 24 : 16 - 8 * c) & 255));
        } else {
          row.push_back(uint16_t(random() % (uint64_t(1) << about.comp[c].depth)));
        }
        out.samples[size_t(c)].push_back(row.back());
      }
      if (!palette) av_write_image_line(row.data(), frame.data, frame.linesize, &about, 0, y, c, w);
    }
  }
  return out;
}

std::vector<double> reference_signals(const RandomPicture& picture, const TargetSize& size,
                                      const Orientation& turn) {
  const AVFrame& frame = *picture.frame;
  const AVPixFmtDescriptor& about = *av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  // Shown columns run along the coded picture's columns, or along its rows.
  const int64_t along_x = turn.swap ? frame.height : frame.width,
                along_y = turn.swap ? frame.width : frame.height;
  const std::vector<double> shown_x = centres(along_x, size.scaled_width, size.width, turn.flip_x);
  const std::vector<double> shown_y = centres(along_y, size.scaled_height, size.height, turn.flip_y);
  const double scale_x = double(along_x) / double(size.scaled_width),
               scale_y = double(along_y) / double(size.scaled_height);
  std::array<std::vector<double>, 3> planes;
  const int count = is_rgb(about) || about.nb_components > 2 ? 3 : 1;
  for (int c = 0; c < count; ++c)
    planes[size_t(c)] = turn.swap ? resampled(real_plane(picture, c), shown_y, shown_x, scale_y, scale_x)
                                  : resampled(real_plane(picture, c), shown_x, shown_y, scale_x, scale_y);
  std::vector<double> rgb;
  for (size_t y = 0; y < shown_y.size(); ++y)
    for (size_t x = 0; x < shown_x.size(); ++x) {
      const size_t at = turn.swap ? x * shown_y.size() + y : y * shown_x.size() + x;
      const auto value = [&](int c) { return planes[size_t(count == 3 ? c : 0)][at]; };
      for (double each : colour_of(frame, about, value(0), value(1), value(2))) rgb.push_back(each);
    }
  return rgb;
}

std::vector<double> reference_rgb(const RandomPicture& picture, const TargetSize& size,
                                  const Orientation& turn) {
  std::vector<double> levels = reference_signals(picture, size, turn);
  for (double& each : levels) each = 255 * std::clamp(each, 0.0, 1.0);
  return levels;
}

}  // namespace zoetrope::testing_support
