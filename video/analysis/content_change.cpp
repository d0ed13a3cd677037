#include "video/analysis/content_change.h"

#include <algorithm>
#include <array>
#include <opencv2/imgproc.hpp>

#include "core/check.h"
#include "video/media/libav.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace zoetrope {
namespace {

constexpr int kLongerSide = 256;
constexpr size_t kKept = kLongestFlash + 2;  // this frame, a flash, and the frame before it

/// 8-bit YUV in three planes, which most videos are.
bool is_plain_yuv(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                              AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT;
  if (format == nullptr || format->nb_components < 3 || (format->flags & kOther) != 0) return false;
  for (int i = 0; i < 3; ++i)
    if (format->comp[i].plane != i || format->comp[i].depth != 8 || format->comp[i].step != 1 ||
        frame.linesize[i] <= 0)
      return false;
  return true;
}

/// Fixed-point weights of YUV to RGB, in 65536ths.
struct YuvWeights {
  int luma_offset, luma, red_v, green_u, green_v, blue_u;
};
YuvWeights weights_of(const AVFrame& frame) {
  const bool hd = frame.colorspace == AVCOL_SPC_BT709 ||
                  (frame.colorspace == AVCOL_SPC_UNSPECIFIED && frame.height >= 720);
  const double kr = hd ? 0.2126 : 0.299, kb = hd ? 0.0722 : 0.114, kg = 1 - kr - kb;
  const bool full = frame.color_range == AVCOL_RANGE_JPEG || frame.format == AV_PIX_FMT_YUVJ420P ||
                    frame.format == AV_PIX_FMT_YUVJ422P || frame.format == AV_PIX_FMT_YUVJ444P;
  const double luma = full ? 1 : 255.0 / 219, chroma = (full ? 1 : 255.0 / 224) * 65536;
  return {full ? 0 : 16,
          int(luma * 65536),
          int(2 * (1 - kr) * chroma),
          int(-2 * (1 - kb) * kb / kg * chroma),
          int(-2 * (1 - kr) * kr / kg * chroma),
          int(2 * (1 - kb) * chroma)};
}

uint8_t to_byte(int fixed) { return uint8_t(std::clamp((fixed + 32768) >> 16, 0, 255)); }

}  // namespace

struct ContentMeter::State {
  std::array<cv::Mat, kKept> pictures;  ///< HSV, the newest first
  std::array<double, kKept> scores{};   ///< of the same frames
  cv::Size size;
  int64_t num_frames = 0;
  libav::Scaler scaler;
  std::array<int, 3> scaler_for{-1, -1, -1};

  cv::Mat bgr_of(const AVFrame& frame);
  cv::Mat bgr_by_libswscale(const AVFrame& frame);
};

cv::Mat ContentMeter::State::bgr_of(const AVFrame& frame) {
  if (!is_plain_yuv(frame)) return bgr_by_libswscale(frame);
  const AVPixFmtDescriptor& format = *av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  std::array<cv::Mat, 3> planes;
  for (int i = 0; i < 3; ++i) {
    const int shift_x = i == 0 ? 0 : format.log2_chroma_w, shift_y = i == 0 ? 0 : format.log2_chroma_h;
    const cv::Mat plane(AV_CEIL_RSHIFT(frame.height, shift_y), AV_CEIL_RSHIFT(frame.width, shift_x), CV_8U,
                        frame.data[i], size_t(frame.linesize[i]));
    cv::resize(plane, planes[size_t(i)], size, 0, 0, cv::INTER_LINEAR);
  }
  const YuvWeights w = weights_of(frame);
  cv::Mat bgr(size, CV_8UC3);
  for (int y = 0; y < size.height; ++y) {
    const uint8_t *luma = planes[0].ptr(y), *blue = planes[1].ptr(y), *red = planes[2].ptr(y);
    uint8_t* out = bgr.ptr(y);
    for (int x = 0; x < size.width; ++x) {
      const int level = (luma[x] - w.luma_offset) * w.luma, u = blue[x] - 128, v = red[x] - 128;
      out[3 * x] = to_byte(level + u * w.blue_u);
      out[3 * x + 1] = to_byte(level + u * w.green_u + v * w.green_v);
      out[3 * x + 2] = to_byte(level + v * w.red_v);
    }
  }
  return bgr;
}

cv::Mat ContentMeter::State::bgr_by_libswscale(const AVFrame& frame) {
  const std::array<int, 3> wanted{frame.width, frame.height, frame.format};
  if (!scaler || scaler_for != wanted) {
    scaler.reset(sws_getContext(frame.width, frame.height, AVPixelFormat(frame.format), size.width,
                                size.height, AV_PIX_FMT_BGR24, SWS_FAST_BILINEAR, nullptr, nullptr, nullptr));
    ZT_REQUIRE(scaler, "libswscale can't read pixel format ",
               av_get_pix_fmt_name(AVPixelFormat(frame.format)));
    scaler_for = wanted;
  }
  cv::Mat bgr(size, CV_8UC3);
  uint8_t* out[4] = {bgr.data, nullptr, nullptr, nullptr};
  const int stride[4] = {int(bgr.step), 0, 0, 0};
  libav::require(sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, out, stride),
                 "libswscale");
  return bgr;
}

ContentMeter::ContentMeter() : state_(std::make_unique<State>()) {}
ContentMeter::~ContentMeter() = default;

ContentChange ContentMeter::observe(const AVFrame& frame) {
  State& s = *state_;
  if (s.num_frames == 0) {
    const double scale = std::max(1.0, double(std::max(frame.width, frame.height)) / kLongerSide);
    s.size = {std::max(1, int(frame.width / scale + 0.5)), std::max(1, int(frame.height / scale + 0.5))};
  }
  std::rotate(s.pictures.begin(), s.pictures.end() - 1, s.pictures.end());
  std::rotate(s.scores.begin(), s.scores.end() - 1, s.scores.end());
  cv::cvtColor(s.bgr_of(frame), s.pictures[0], cv::COLOR_BGR2HSV);
  const auto difference_from = [&](size_t age) {
    return cv::norm(s.pictures[0], s.pictures[age], cv::NORM_L1) / double(3 * s.size.area());
  };
  ContentChange change;
  change.score = s.scores[0] = s.num_frames == 0 ? 0 : difference_from(1);
  ++s.num_frames;
  if (change.score < kLeastCutScore) return change;
  for (int frames = 1; frames <= kLongestFlash && frames + 1 < s.num_frames; ++frames) {
    const double began = s.scores[size_t(frames)];
    if (began < kLeastCutScore) continue;
    // Back where it was: nearer to the frame before the flash than half of what the flash changed.
    if (difference_from(size_t(frames + 1)) < std::min(began, change.score) / 2) {
      change.flash_frames = frames;
      break;
    }
  }
  return change;
}

}  // namespace zoetrope
