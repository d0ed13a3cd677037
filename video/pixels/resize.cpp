#include "video/pixels/resize.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "video/pixels/picture_converter.h"

namespace zoetrope {
namespace {

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
  pixels::PictureColor color;
  std::string color_steps;
  pixels::PictureConverter converter;

  Orientation orientation_of_frame(const AVFrame& frame, const int32_t* stream_matrix) const {
    const AVFrameSideData* own = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return orientation_of(own != nullptr && own->size >= 36 ? reinterpret_cast<const int32_t*>(own->data)
                                                            : stream_matrix);
  }
  TargetSize fit(const Shape& shown) const;
};

const char* pixel_rules() {
  return "1: planes resampled by antialiased bicubic (-1/2) with repeated edges, then matrix, then 8 bits; "
         "untagged: BT.709 from 720 lines up, else BT.601, limited range, chroma left; alpha on black; HDR "
         "(PQ, HLG): BT.2020 light, BT.2390 curve of the "
         "largest colour from 1000 nit to 203-nit white, BT.709 primaries, power 1/2.4 (BT.1886)";
}

FrameConverter::FrameConverter(const SizeRule& rule) : state_(std::make_unique<State>()) {
  state_->rule = rule;
  state_->converter = pixels::PictureConverter(rule.tone_map_hdr);
}
FrameConverter::~FrameConverter() = default;

void FrameConverter::prepare(const AVFrame& frame, const int32_t* stream_matrix,
                             std::array<int, 2> pixel_aspect) {
  State& s = *state_;
  if (s.prepared) return;
  const pixels::PixelFormat format = pixels::pixel_format_of(frame.format);
  s.color = pixels::color_of(frame, format, s.rule.tone_map_hdr);
  s.color_steps = pixels::steps_of(s.color, format);
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

bool FrameConverter::is_like_first(const AVFrame& frame, const int32_t* stream_matrix) const {
  const State& s = *state_;
  return frame.width == s.first_width && frame.height == s.first_height &&
         s.orientation_of_frame(frame, stream_matrix) == s.orientation;
}

void FrameConverter::convert(const AVFrame& frame, const int32_t* stream_matrix,
                             std::array<int, 2> pixel_aspect, uint8_t* rgb) {
  prepare(frame, stream_matrix, pixel_aspect);
  State& s = *state_;
  const Orientation turn = s.orientation_of_frame(frame, stream_matrix);
  TargetSize size = s.target;
  if (!is_like_first(frame, stream_matrix)) {
    s.size_changed = true;
    Shape shown = shape_of(frame, aspect_of(frame, pixel_aspect));
    if (turn.swap) std::swap(shown.width, shown.height);
    size = s.fit(shown);
  }
  s.converter.convert(frame, size, turn, rgb);
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
const std::string& FrameConverter::color_steps() const { return state_->color_steps; }
bool FrameConverter::size_changed() const { return state_->size_changed; }

}  // namespace zoetrope
