#include "video/pixels/resize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check.h"
#include "video/media/libav.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace zoetrope {
namespace {

constexpr int kScaling =
    SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT;

/// How the numbers of a picture become colours.
struct Color {
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int matrix = AVCOL_SPC_UNSPECIFIED;  ///< AVColorSpace
  bool full_range = false, guessed = false;
  bool operator==(const Color&) const = default;
};

/// The plain format behind the deprecated ones that carry their range in the name.
AVPixelFormat without_range(AVPixelFormat format, bool& full) {
  full = true;
  switch (format) {
    case AV_PIX_FMT_YUVJ411P: return AV_PIX_FMT_YUV411P;
    case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P;
    default: full = false; return format;
  }
}

Color color_of(const AVFrame& frame) {
  ZT_REQUIRE(frame.color_trc != AVCOL_TRC_SMPTE2084 && frame.color_trc != AVCOL_TRC_ARIB_STD_B67,
             "HDR transfer ", av_color_transfer_name(frame.color_trc),
             " needs tone mapping, which is not done here; convert the clip to BT.709 first");
  Color color;
  bool named_full = false;
  color.format = without_range(AVPixelFormat(frame.format), named_full);
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(color.format);
  ZT_REQUIRE(format != nullptr && sws_isSupportedInput(color.format), "pixel format ",
             format != nullptr ? format->name : "unknown", " can't be converted");
  if ((format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) {
    color.matrix = AVCOL_SPC_RGB;
    color.full_range = true;
    return color;
  }
  const bool gray = format->nb_components <= 2;
  color.full_range = named_full || frame.color_range == AVCOL_RANGE_JPEG ||
                     (gray && frame.color_range == AVCOL_RANGE_UNSPECIFIED);
  color.matrix = frame.colorspace;
  if (color.matrix == AVCOL_SPC_UNSPECIFIED || color.matrix == AVCOL_SPC_RGB ||
      color.matrix == AVCOL_SPC_RESERVED) {
    color.matrix = frame.height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    color.guessed = !gray && !named_full;
  }
  if (frame.color_range == AVCOL_RANGE_UNSPECIFIED && !named_full && !gray) color.guessed = true;
  return color;
}

/// swscale's number for a matrix.
int scaler_matrix(int matrix) {
  switch (matrix) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL: return SWS_CS_BT2020;
    case AVCOL_SPC_RGB: return SWS_CS_DEFAULT;
    default:
      throw Error(join_message("colour matrix ", av_color_space_name(AVColorSpace(matrix)),
                               " can't be converted; convert the clip to BT.709 first"));
  }
}

/// Everything that a scaler depends on.
struct ScalerKey {
  int width = 0, height = 0;
  Color color;
  int64_t scaled_width = 0, scaled_height = 0;
  bool operator==(const ScalerKey&) const = default;
};

libav::Scaler make_scaler(const ScalerKey& key) {
  libav::Scaler scaler(sws_getContext(key.width, key.height, key.color.format, int(key.scaled_width),
                                      int(key.scaled_height), AV_PIX_FMT_RGB24, kScaling, nullptr, nullptr,
                                      nullptr));
  ZT_REQUIRE(scaler != nullptr, "swscale can't turn ", key.width, "x", key.height, " ",
             av_get_pix_fmt_name(key.color.format), " into ", key.scaled_width, "x", key.scaled_height,
             " RGB");
  const int* matrix = sws_getCoefficients(scaler_matrix(key.color.matrix));
  sws_setColorspaceDetails(scaler.get(), matrix, key.color.full_range, matrix, 1, 0, 1 << 16, 1 << 16);
  return scaler;
}

/// Size of a picture as shown, in square pixels, before rotation.
struct Shape {
  double width = 0, height = 0;
};

Shape shape_of(const AVFrame& frame, AVRational aspect) {
  return {double(frame.width) * aspect.num / aspect.den, double(frame.height)};
}

AVRational aspect_of(const AVFrame& frame, std::array<int, 2> stream) {
  AVRational aspect = frame.sample_aspect_ratio;
  if (aspect.num <= 0 || aspect.den <= 0) aspect = {stream[0], stream[1]};
  if (aspect.num <= 0 || aspect.den <= 0) return {1, 1};
  // Beyond 16:1 nobody meant it: broken headers.
  ZT_REQUIRE(aspect.num <= 16 * int64_t(aspect.den) && aspect.den <= 16 * int64_t(aspect.num),
             "pixel aspect ", aspect.num, ":", aspect.den, " can't be right");
  return aspect;
}

}  // namespace

struct FrameConverter::State {
  SizeRule rule;
  bool prepared = false, size_changed = false;
  int first_width = 0, first_height = 0;
  TargetSize target;
  Orientation orientation;
  AVRational aspect{1, 1};
  int64_t shown_width = 0, shown_height = 0;
  Color color;
  ScalerKey key;
  libav::Scaler scaler;
  std::vector<uint8_t> scaled;

  Orientation orientation_of_frame(const AVFrame& frame, const int32_t* stream_matrix) const {
    const AVFrameSideData* own = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return orientation_of(own != nullptr && own->size >= 36 ? reinterpret_cast<const int32_t*>(own->data)
                                                            : stream_matrix);
  }
  TargetSize fit(const Shape& shown) const;
  void scale(const AVFrame& frame, const ScalerKey& wanted);
};

FrameConverter::FrameConverter(const SizeRule& rule) : state_(std::make_unique<State>()) {
  state_->rule = rule;
}
FrameConverter::~FrameConverter() = default;

void FrameConverter::prepare(const AVFrame& frame, const int32_t* stream_matrix,
                             std::array<int, 2> pixel_aspect) {
  State& s = *state_;
  if (s.prepared) return;
  s.color = color_of(frame);
  s.orientation = s.orientation_of_frame(frame, stream_matrix);
  s.aspect = aspect_of(frame, pixel_aspect);
  Shape shown = shape_of(frame, s.aspect);
  if (s.orientation.swap) std::swap(shown.width, shown.height);
  s.shown_width = std::llround(shown.width);
  s.shown_height = std::llround(shown.height);
  s.target = choose_target(shown.width, shown.height, s.rule);
  s.first_width = frame.width;
  s.first_height = frame.height;
  s.prepared = true;
}

/// Scaled size that covers the target of the first picture.
TargetSize FrameConverter::State::fit(const Shape& shown) const {
  TargetSize out = target;
  const double cover = std::max(double(target.width) / shown.width, double(target.height) / shown.height);
  out.scaled_width = std::max<int64_t>(target.width, std::llround(shown.width * cover));
  out.scaled_height = std::max<int64_t>(target.height, std::llround(shown.height * cover));
  return out;
}

void FrameConverter::State::scale(const AVFrame& frame, const ScalerKey& wanted) {
  if (!scaler || !(wanted == key)) {
    scaler = make_scaler(wanted);
    key = wanted;
  }
  const int line = int((wanted.scaled_width * 3 + 63) / 64 * 64);
  scaled.resize(size_t(line * wanted.scaled_height) + 64);
  uint8_t* planes[4] = {scaled.data(), nullptr, nullptr, nullptr};
  const int lines[4] = {line, 0, 0, 0};
  const int rows = sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, planes, lines);
  ZT_REQUIRE(rows == wanted.scaled_height, "swscale converted ", rows, " of ", wanted.scaled_height, " rows");
}

void FrameConverter::convert(const AVFrame& frame, const int32_t* stream_matrix,
                             std::array<int, 2> pixel_aspect, uint8_t* rgb) {
  prepare(frame, stream_matrix, pixel_aspect);
  State& s = *state_;
  const Orientation turn = s.orientation_of_frame(frame, stream_matrix);
  const bool same = frame.width == s.first_width && frame.height == s.first_height && turn == s.orientation;
  TargetSize size = s.target;
  if (!same) {
    s.size_changed = true;
    Shape shown = shape_of(frame, aspect_of(frame, pixel_aspect));
    if (turn.swap) std::swap(shown.width, shown.height);
    size = s.fit(shown);
  }
  ScalerKey key{frame.width, frame.height, color_of(frame), size.scaled_width, size.scaled_height};
  if (turn.swap) std::swap(key.scaled_width, key.scaled_height);
  s.scale(frame, key);
  const int64_t line = (key.scaled_width * 3 + 63) / 64 * 64;
  const int64_t left = (size.scaled_width - size.width) / 2, top = (size.scaled_height - size.height) / 2;
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x) {
      int64_t from_x = turn.flip_x ? size.scaled_width - 1 - (x + left) : x + left;
      int64_t from_y = turn.flip_y ? size.scaled_height - 1 - (y + top) : y + top;
      if (turn.swap) std::swap(from_x, from_y);
      const uint8_t* from = &s.scaled[size_t(from_y * line + from_x * 3)];
      std::copy(from, from + 3, rgb + (y * size.width + x) * 3);
    }
}

const TargetSize& FrameConverter::target() const { return state_->target; }
Orientation FrameConverter::orientation() const { return state_->orientation; }
int64_t FrameConverter::shown_width() const { return state_->shown_width; }
int64_t FrameConverter::shown_height() const { return state_->shown_height; }
std::string FrameConverter::pixel_aspect() const {
  return join_message(state_->aspect.num, ":", state_->aspect.den);
}
std::string FrameConverter::matrix() const {
  const char* name = av_color_space_name(AVColorSpace(state_->color.matrix));
  return name == nullptr ? "unknown" : name;
}
std::string FrameConverter::range() const { return state_->color.full_range ? "full" : "limited"; }
bool FrameConverter::guessed_color() const { return state_->color.guessed; }
bool FrameConverter::size_changed() const { return state_->size_changed; }

}  // namespace zoetrope
