// PQ and HLG to BT.709 against the same chain in double, and the anchors of their standards through whole
// files.
#include <gtest/gtest.h>
#include <cmath>
#include <random>

#include "core/check.h"
#include "tests/support/media.h"
#include "tests/support/picture_reference.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"
#include "video/pixels/picture_converter.h"

namespace zoetrope {
namespace {

using testing_support::make_random_picture;
using testing_support::RandomPicture;
using testing_support::reference_signals;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

using Rgb = std::array<double, 3>;

double nits_of_pq(double e) {
  const double p = std::pow(e, 32.0 / 2523);
  return 10000 * std::pow(std::fmax(p - 0.8359375, 0) / (18.8515625 - 18.6875 * p), 16384.0 / 2610);
}
double pq_of_nits(double nits) {
  const double y = std::pow(nits / 10000, 0.1593017578125);
  return std::pow((0.8359375 + 18.8515625 * y) / (1 + 18.6875 * y), 78.84375);
}
double scene_of_hlg(double e) {
  const double a = 0.17883277, b = 1 - 4 * a, c = 0.5 - a * std::log(4 * a);
  return e <= 0.5 ? e * e / 3 : (std::exp((e - c) / a) + b) / 12;
}

/// The chain of video/pixels/tone_map.h: levels 0 to 255, not rounded.
Rgb reference_chain(bool hlg, Rgb signal) {
  Rgb nits;
  for (size_t c = 0; c < 3; ++c) {
    const double e = std::fmin(std::fmax(signal[c], 0), 1);
    nits[c] = hlg ? scene_of_hlg(e) : std::fmin(nits_of_pq(e), 1000);
  }
  if (hlg) {
    const double luminance = 0.2627 * nits[0] + 0.6780 * nits[1] + 0.0593 * nits[2];
    for (double& each : nits) each *= 1000 * std::pow(luminance, 0.2);
  }
  const double largest = std::fmax(nits[0], std::fmax(nits[1], nits[2]));
  const double top = pq_of_nits(1000), most = pq_of_nits(203) / top, e = pq_of_nits(largest) / top;
  const double knee = 1.5 * most - 0.5, t = (e - knee) / (1 - knee);
  double after = largest;
  if (e > knee)
    after = nits_of_pq(top * ((2 * t * t * t - 3 * t * t + 1) * knee +
                              (t * t * t - 2 * t * t + t) * (1 - knee) + (3 * t * t - 2 * t * t * t) * most));
  // BT.2020's primaries in BT.709's, derived from their chromaticities and D65: BT.2087.
  const double m[3][3] = {{1.6604910, -0.5876411, -0.0728499},
                          {-0.1245505, 1.1328999, -0.0083494},
                          {-0.0181508, -0.1005789, 1.1187297}};
  Rgb out;
  for (size_t c = 0; c < 3; ++c) {
    const double light =
        largest == 0 ? 0 : (m[c][0] * nits[0] + m[c][1] * nits[1] + m[c][2] * nits[2]) * after / largest;
    out[c] = 255 * std::pow(std::fmin(std::fmax(light / 203, 0), 1), 1 / 2.4);
  }
  return out;
}

/// Least and largest of the chain when each signal is off by up to `error`: near 0 the power of 1 / 2.4 and
/// mixtures that nearly cancel make small errors large, so tolerances come from the chain itself.
std::array<Rgb, 2> chain_range(bool hlg, const Rgb& signal, double error) {
  std::array<Rgb, 2> out = {Rgb{1e9, 1e9, 1e9}, Rgb{-1e9, -1e9, -1e9}};
  for (int corner = 0; corner < 27; ++corner) {
    Rgb moved = signal;
    for (int c = 0, left = corner; c < 3; ++c, left /= 3) moved[size_t(c)] += error * (left % 3 - 1);
    const Rgb level = reference_chain(hlg, moved);
    for (size_t c = 0; c < 3; ++c) {
      out[0][c] = std::fmin(out[0][c], level[c]);
      out[1][c] = std::fmax(out[1][c], level[c]);
    }
  }
  return out;
}

TEST(ToneMap, AnchorsAreThoseOfTheStandards) {
  EXPECT_NEAR(nits_of_pq(0.508), 100, 0.5);
  EXPECT_NEAR(nits_of_pq(0.581), 203, 1);
  EXPECT_NEAR(nits_of_pq(0.752), 1000, 5);
  EXPECT_NEAR(1000 * std::pow(scene_of_hlg(0.75), 1.2), 203, 1);
  for (bool hlg : {false, true}) {
    const auto transfer = hlg ? pixels::HdrTransfer::kHlg : pixels::HdrTransfer::kPq;
    const pixels::ToneMap& map = pixels::tone_map_of(transfer);
    const float peak = hlg ? 1.0f : float(pq_of_nits(1000));
    EXPECT_NEAR(map.map({peak, peak, peak})[0], 255, 0.01) << "the source's peak is white";
    EXPECT_EQ(map.map({0, 0, 0})[0], 0) << "black stays black";
    // Tables are linear between 4096 steps: their error is that of half a step's rounding of the signal, at
    // most.
    for (int i = 0; i <= 1000; ++i) {
      const double s = i / 1000.0;
      const auto [low, high] = chain_range(hlg, {s, s, s}, 0.5 / 4096 / 16);
      EXPECT_GE(map.map({float(s), float(s), float(s)})[1], low[1] - 0.02) << s;
      EXPECT_LE(map.map({float(s), float(s), float(s)})[1], high[1] + 0.02) << s;
    }
  }
}

TEST(ToneMap, PicturesAreWithinOneLevelOfTheChain) {
  const uint64_t seed = std::random_device{}();
  for (AVColorTransferCharacteristic transfer : {AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67})
    for (AVPixelFormat format :
         {AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV444P12LE, AV_PIX_FMT_P010LE, AV_PIX_FMT_GBRP16LE})
      for (AVColorPrimaries primaries : {AVCOL_PRI_BT2020, AVCOL_PRI_BT709}) {
        RandomPicture picture = make_random_picture(format, 41, 29, seed + uint64_t(format));
        picture.frame->color_trc = transfer;
        picture.frame->color_primaries = primaries;
        picture.frame->colorspace = AVCOL_SPC_BT2020_NCL;
        picture.frame->color_range = AVCOL_RANGE_MPEG;
        const TargetSize size{23, 15, 23, 16, 0};
        pixels::PictureConverter converter;
        std::vector<uint8_t> rgb(23 * 15 * 3);
        converter.convert(*picture.frame, size, {}, rgb.data());
        const std::vector<double> signals = reference_signals(picture, size, {});
        // In units of 2^-14 of the range: rows are rounded once, and columns weigh such errors by 1.5 at
        // most; of up to 9 weights down and 9 along each is off by half a unit, of a signal up to 1.25. All
        // are uniform and independent, of variance 1 / 12; the matrix multiplies by 3.4 at most. Four
        // standard deviations.
        const double variance = (1.5 * 1.5 + 18 * 1.25 * 1.25) / 12;
        const double error = 4 * 3.4 * std::sqrt(variance) / 16384;
        for (size_t i = 0; i < signals.size(); i += 3) {
          const auto [low, high] = chain_range(transfer == AVCOL_TRC_ARIB_STD_B67,
                                               {signals[i], signals[i + 1], signals[i + 2]}, error);
          for (size_t c = 0; c < 3; ++c) {
            ASSERT_GE(rgb[i + c], std::round(low[c]) - 1)
                << "pixel " << i / 3 << " colour " << c << " seed " << seed;
            ASSERT_LE(rgb[i + c], std::round(high[c]) + 1)
                << "pixel " << i / 3 << " colour " << c << " seed " << seed;
          }
        }
      }
}

class HdrFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  DecodedClip decode(const std::string& name, bool tone_map = true) const {
    DecodeRules rules;
    rules.size = {{1, 1, 1}, 1 << 24, false, tone_map};
    return decode_file(path(name), rules).at(0);
  }
  /// Grey of one 10-bit code, coded without loss and tagged.
  void make_grey(int code, const std::string& transfer, const std::string& primaries,
                 const std::string& name) const {
    std::string raw;
    for (int i = 0; i < 64 * 64 * 3; ++i) {
      const int value = i < 64 * 64 ? code : 512;
      raw += {char(value & 255), char(value >> 8)};
    }
    testing_support::write_text(path("raw.yuv"), raw);
    run_ffmpeg("-f rawvideo -pix_fmt yuv444p10le -s 64x64 -r 8 -i " + path("raw.yuv") +
               " -c:v libx265 -x265-params lossless=1:colorprim=" + primaries + ":transfer=" + transfer +
               ":colormatrix=bt2020nc:range=limited:log-level=none " + path(name));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(HdrFiles, GreysOfBothTransfersFollowTheChain) {
  const std::pair<const char*, double> greys[] = {{"smpte2084", 0.508},
                                                  {"smpte2084", 0.581},
                                                  {"smpte2084", 0.752},
                                                  {"arib-std-b67", 0.75},
                                                  {"arib-std-b67", 0.5}};
  for (const auto& [transfer, fraction] : greys) {
    const int code = int(std::lround(64 + 876 * fraction));
    const bool hlg = std::string(transfer) == "arib-std-b67";
    for (const char* primaries : {"bt2020", "bt709"}) {
      make_grey(code, transfer, primaries, "grey.mp4");
      const DecodedClip decoded = decode("grey.mp4");
      ASSERT_EQ(decoded.refused, "");
      const double signal = (code - 64) / 876.0;
      for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(decoded.clip.pixels[c], std::round(reference_chain(hlg, {signal, signal, signal})[c]), 1)
            << transfer << " " << fraction;
      EXPECT_NE(decoded.facts.color_steps.find(std::string(transfer) + " tone-mapped"), std::string::npos)
          << decoded.facts.color_steps;
    }
  }
}

TEST_F(HdrFiles, AreRefusedWhereAsked) {
  make_grey(500, "smpte2084", "bt2020", "pq.mp4");
  EXPECT_NE(decode("pq.mp4", false).refused.find("smpte2084"), std::string::npos)
      << decode("pq.mp4", false).refused;
  EXPECT_NE(decode("pq.mp4", false).refused.find("--hdr tonemap"), std::string::npos);
}

}  // namespace
}  // namespace zoetrope
