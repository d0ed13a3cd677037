// Colours through the whole decode: the same colour coded in every matrix and range, tagged and untagged, and
// alpha.
#include <gtest/gtest.h>
#include <cmath>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

/// A matrix and a range as ffmpeg's filter and its tags name them, and what 8-bit 4:4:4 makes of (192, 64,
/// 32).
struct Coding {
  const char *matrix, *range, *tag;
  std::array<int, 3> colour;
};
constexpr Coding kCodings[] = {{"bt601", "tv", "smpte170m", {193, 64, 32}},
                               {"bt601", "pc", "smpte170m", {193, 64, 32}},
                               {"bt709", "tv", "bt709", {192, 63, 31}},
                               {"bt709", "pc", "bt709", {191, 64, 31}}};

class Colours : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// The colour (192, 64, 32) coded without loss; `tags`: options that tag the stream, or take tags away.
  void make(const Coding& coding, const std::string& size, const std::string& tags,
            const std::string& name) const {
    run_ffmpeg("-f lavfi -i color=c=0xC04020:s=" + size +
               ":r=25:d=0.1,format=rgb24 -vf scale=out_color_matrix=" + coding.matrix + ":out_range=" +
               coding.range + ":flags=accurate_rnd+full_chroma_int,format=yuv444p -c:v libx264 -qp 0 " +
               tags + " " + path(name));
  }
  DecodedClip decode(const std::string& name) const {
    DecodeRules rules;
    rules.size = {{1, 1, 1}, 1 << 24, false};
    return decode_file(path(name), rules).at(0);
  }
  /// Stored luma and chroma of the first pixel.
  std::array<int, 3> stored(const std::string& name) const {
    run_ffmpeg("-i " + path(name) + " -frames:v 1 -f rawvideo " + path("raw.yuv"));
    const std::string raw = read_file(path("raw.yuv"));
    return {uint8_t(raw[0]), uint8_t(raw[raw.size() / 3]), uint8_t(raw[raw.size() / 3 * 2])};
  }

 private:
  TemporaryFolder folder_;
};

void expect_colour(const DecodedClip& decoded, const std::array<double, 3>& expected) {
  ASSERT_EQ(decoded.refused, "");
  const uint8_t* last = decoded.clip.pixels.data() + decoded.clip.width * decoded.clip.height * 3 - 3;
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(decoded.clip.pixels[c], std::round(expected[c]), 1) << "colour " << c;
    EXPECT_NEAR(last[c], std::round(expected[c]), 1) << "colour " << c << " of the last pixel";
  }
}

TEST_F(Colours, TaggedOnesAreReadByTheirTags) {
  for (const Coding& coding : kCodings) {
    SCOPED_TRACE(testing::Message() << coding.matrix << " " << coding.range);
    const std::string tag = coding.tag;
    make(coding, "320x240",
         "-colorspace " + tag + " -color_primaries " + tag + " -color_trc " + tag + " -color_range " +
             coding.range,
         "tagged.mp4");
    const DecodedClip decoded = decode("tagged.mp4");
    expect_colour(decoded, {double(coding.colour[0]), double(coding.colour[1]), double(coding.colour[2])});
    EXPECT_EQ(decoded.facts.color_matrix, tag);
    EXPECT_EQ(decoded.facts.color_range, std::string(coding.range) == "tv" ? "limited" : "full");
    EXPECT_FALSE(decoded.facts.color_guessed);
  }
}

/// Limited range by the weights of red and blue.
std::array<double, 3> limited_rgb(const std::array<int, 3>& yuv, double red, double blue) {
  const double y = (yuv[0] - 16) / 219.0, u = (yuv[1] - 128) / 224.0, v = (yuv[2] - 128) / 224.0;
  const double r = y + 2 * (1 - red) * v, b = y + 2 * (1 - blue) * u;
  std::array<double, 3> rgb = {r, (y - red * r - blue * b) / (1 - red - blue), b};
  for (double& each : rgb) each = 255 * std::clamp(each, 0.0, 1.0);
  return rgb;
}

TEST_F(Colours, UntaggedOnesAreReadByTheGuessAndTheManifestSaysSo) {
  const std::string untag =
      "-bsf:v h264_metadata=matrix_coefficients=2:colour_primaries=2:transfer_characteristics=2:"
      "video_full_range_flag=0";
  for (const Coding& coding : kCodings)
    for (const char* size : {"320x240", "1280x720"}) {
      SCOPED_TRACE(testing::Message() << coding.matrix << " " << coding.range << " untagged, " << size);
      const bool high = std::string(size) == "1280x720";
      make(coding, size, untag, "plain.h264");
      const DecodedClip decoded = decode("plain.h264");
      expect_colour(decoded, high ? limited_rgb(stored("plain.h264"), 0.2126, 0.0722)
                                  : limited_rgb(stored("plain.h264"), 0.299, 0.114));
      EXPECT_EQ(decoded.facts.color_matrix, high ? "bt709" : "smpte170m");
      EXPECT_EQ(decoded.facts.color_range, "limited");
      EXPECT_TRUE(decoded.facts.color_guessed);
      // Where the guess is right, so is the colour.
      if (std::string(coding.range) == "tv" && high == (std::string(coding.tag) == "bt709"))
        expect_colour(decoded,
                      {double(coding.colour[0]), double(coding.colour[1]), double(coding.colour[2])});
    }
}

TEST_F(Colours, AlphaIsPutOnBlackAndSaid) {
  run_ffmpeg("-f lavfi -i color=c=0xC04020@0.5:s=32x32,format=rgba -frames:v 1 " + path("half.png"));
  const DecodedClip decoded = decode("half.png");
  // ffmpeg stores 0.5 as 127 or 128 of 255.
  expect_colour(decoded, {192 * 127.5 / 255, 64 * 127.5 / 255, 32 * 127.5 / 255});
  EXPECT_EQ(decoded.facts.color_steps, "alpha on black");
}

TEST_F(Colours, PlaceOfChromaIsSaid) {
  run_ffmpeg("-f lavfi -i testsrc2=s=64x64:r=25:d=0.1 -pix_fmt yuv420p -c:v libx264 " + path("left.mp4"));
  run_ffmpeg("-f lavfi -i testsrc2=s=64x64:r=25:d=0.1 -pix_fmt yuvj420p -c:v mjpeg " + path("middle.avi"));
  EXPECT_EQ(decode("left.mp4").facts.color_steps.substr(0, 11), "chroma left");
  EXPECT_EQ(decode("middle.avi").facts.color_steps, "chroma center");
}

}  // namespace
}  // namespace zoetrope
