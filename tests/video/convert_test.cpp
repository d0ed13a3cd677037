// Conversion to RGB against a double reference: every pixel format, awkward sizes, sitings, matrices, ranges
// and orientations, and both sets of instructions byte for byte.
#include <gtest/gtest.h>
#include <cmath>
#include <random>

#include "core/check.h"
#include "tests/support/picture_reference.h"
#include "video/pixels/picture_converter.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace zoetrope {
namespace {

using testing_support::make_random_picture;
using testing_support::RandomPicture;
using testing_support::reference_rgb;

/// New content in every run; a failure prints it.
uint64_t seed_of_run() {
  static const uint64_t seed = std::random_device{}();
  return seed;
}

TargetSize whole(int64_t width, int64_t height) { return {width, height, width, height, 0}; }

/// Converts and compares: within one level of the rounded reference, and the same with plain loops.
void expect_close(const RandomPicture& picture, const TargetSize& size, const Orientation& turn = {}) {
  pixels::PictureConverter converter;
  const size_t bytes = size_t(size.width * size.height * 3);
  std::vector<uint8_t> rgb(bytes + 64, 0xa5), plain(bytes + 64, 0xa5);
  converter.convert(*picture.frame, size, turn, rgb.data());
  run_picture_job_plainly(converter.job_for(*picture.frame, size, turn, plain.data()));
  EXPECT_TRUE(rgb == plain) << "plain loops differ";
  EXPECT_TRUE(std::all_of(rgb.begin() + int64_t(bytes), rgb.end(), [](uint8_t b) { return b == 0xa5; }))
      << "bytes past the end were written";
  const std::vector<double> expected = reference_rgb(picture, size, turn);
  ASSERT_EQ(expected.size(), bytes);
  for (size_t i = 0; i < bytes; ++i)
    ASSERT_LE(std::abs(std::lround(expected[i]) - int(rgb[i])), 1)
        << "colour " << i % 3 << " at " << i / 3 % size_t(size.width) << "," << i / 3 / size_t(size.width)
        << ": expected " << expected[i] << ", got " << int(rgb[i]);
}

std::string label(AVPixelFormat format, int width, int height, const TargetSize& size) {
  return join_message(av_get_pix_fmt_name(format), " ", width, "x", height, " to ", size.width, "x",
                      size.height, " of ", size.scaled_width, "x", size.scaled_height, ", seed ",
                      seed_of_run());
}

TEST(Convert, EveryPixelFormatIsWithinOneLevelOrRefusedByName) {
  int covered = 0;
  for (const AVPixFmtDescriptor* about = nullptr; (about = av_pix_fmt_desc_next(about)) != nullptr;) {
    const AVPixelFormat format = av_pix_fmt_desc_get_id(about);
    try {
      pixels::pixel_format_of(format);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(about->name), std::string::npos) << error.what();
      const std::string name = about->name;
      const bool other =
          (about->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER)) != 0;
      EXPECT_TRUE(other || name.starts_with("xyz12") || name == "uyyvyy411" || about->comp[0].depth > 16)
          << name << " is refused";
      continue;
    }
    ++covered;
    const RandomPicture picture = make_random_picture(format, 37, 23, seed_of_run() + uint64_t(format));
    for (const TargetSize& size : {whole(37, 23), whole(19, 11), whole(50, 40)}) {
      SCOPED_TRACE(label(format, 37, 23, size));
      expect_close(picture, size);
    }
  }
  EXPECT_GT(covered, 150);
}

TEST(Convert, AwkwardSizesAreWithinOneLevel) {
  const std::array<int, 2> sizes[] = {{1, 1},   {2, 1},   {1, 3},     {3, 2},
                                      {15, 17}, {33, 16}, {321, 241}, {500, 500}};
  for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV411P, AV_PIX_FMT_P010LE,
                               AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_GBRP, AV_PIX_FMT_GRAY8})
    for (auto [width, height] : sizes) {
      const RandomPicture picture =
          make_random_picture(format, width, height, seed_of_run() + uint64_t(width));
      for (const TargetSize& size :
           {whole(width, height), whole(1, 1), whole((width + 2) / 3, (height + 3) / 4),
            whole(width + 5, 2 * height + 1)}) {
        if (size.width * size.height > 40000 && format != AV_PIX_FMT_YUV420P) continue;
        SCOPED_TRACE(label(format, width, height, size));
        expect_close(picture, size);
      }
    }
}

TEST(Convert, StrongReductionIsWithinOneLevel) {
  for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_RGB24}) {
    const RandomPicture picture = make_random_picture(format, 1283, 721, seed_of_run());
    SCOPED_TRACE(label(format, 1283, 721, whole(43, 24)));
    expect_close(picture, whole(43, 24));
  }
}

TEST(Convert, EveryOrientationAndCropIsWithinOneLevel) {
  for (int turn = 0; turn < 8; ++turn) {
    const Orientation orientation{(turn & 1) != 0, (turn & 2) != 0, (turn & 4) != 0};
    for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVA444P, AV_PIX_FMT_GRAY16BE}) {
      const RandomPicture picture = make_random_picture(format, 45, 31, seed_of_run() + uint64_t(turn));
      for (const TargetSize& size : {TargetSize{24, 16, 29, 19, 0}, TargetSize{40, 24, 40, 33, 0}}) {
        SCOPED_TRACE(label(format, 45, 31, size) + join_message(", orientation ", turn));
        expect_close(picture, size, orientation);
      }
    }
  }
}

TEST(Convert, EveryMatrixRangeAndSitingIsWithinOneLevel) {
  for (AVColorSpace matrix : {AVCOL_SPC_BT709, AVCOL_SPC_SMPTE170M, AVCOL_SPC_BT470BG, AVCOL_SPC_BT2020_NCL,
                              AVCOL_SPC_SMPTE240M, AVCOL_SPC_FCC, AVCOL_SPC_YCGCO, AVCOL_SPC_UNSPECIFIED})
    for (AVColorRange range : {AVCOL_RANGE_UNSPECIFIED, AVCOL_RANGE_MPEG, AVCOL_RANGE_JPEG})
      for (int place = AVCHROMA_LOC_UNSPECIFIED; place < AVCHROMA_LOC_NB; ++place)
        for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P12LE}) {
          RandomPicture picture = make_random_picture(format, 27, 21, seed_of_run() + uint64_t(place));
          picture.frame->colorspace = matrix;
          picture.frame->color_range = range;
          picture.frame->chroma_location = AVChromaLocation(place);
          SCOPED_TRACE(label(format, 27, 21, whole(16, 13)) +
                       join_message(", matrix ", matrix, " range ", range, " siting ", place));
          expect_close(picture, whole(16, 13));
        }
}

TEST(Convert, RefusesMatricesThatItDoesNotKnow) {
  RandomPicture picture = make_random_picture(AV_PIX_FMT_YUV420P, 8, 8, 1);
  picture.frame->colorspace = AVCOL_SPC_BT2020_CL;
  pixels::PictureConverter converter;
  std::vector<uint8_t> rgb(8 * 8 * 3);
  try {
    converter.convert(*picture.frame, whole(8, 8), {}, rgb.data());
    FAIL() << "constant luminance was converted";
  } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("bt2020c"), std::string::npos); }
}

}  // namespace
}  // namespace zoetrope
