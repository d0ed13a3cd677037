// Sizes, rotations and colours: laws of the target size, and pictures against the ffmpeg command.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"
#include "video/pixels/resize.h"

namespace zoetrope {
namespace {

using testing_support::decode_with_ffmpeg;
using testing_support::OracleFrames;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

TEST(TargetSize, IsWholePatchesWithinTheAreaAndCoversTheTarget) {
  const Patch patches[] = {{4, 8, 8}, {1, 1, 1}, {2, 16, 8}};
  const int64_t sides[] = {16, 17, 31, 33, 64, 257, 480, 1080, 1920, 10000};
  for (const Patch& patch : patches)
    for (int64_t area : {1024, 6144, 480 * 832})
      for (int64_t width : sides)
        for (int64_t height : sides)
          for (bool upscale : {false, true}) {
            SCOPED_TRACE(testing::Message() << width << "x" << height << " area " << area << " patch "
                                            << patch.h << " " << upscale);
            TargetSize target;
            try {
              target = choose_target(double(width), double(height), {patch, area, upscale});
            } catch (const Error&) {
              EXPECT_FALSE(upscale);
              EXPECT_TRUE(width < patch.w || height < patch.h ||
                          std::max(width, height) > 8 * std::min(width, height));
              continue;
            }
            EXPECT_EQ(target.width % patch.w, 0);
            EXPECT_EQ(target.height % patch.h, 0);
            EXPECT_GE(target.width, patch.w);
            EXPECT_GE(target.height, patch.h);
            EXPECT_LE(target.width * target.height, area);
            EXPECT_GE(target.scaled_width, target.width);
            EXPECT_GE(target.scaled_height, target.height);
            EXPECT_GE(target.crop_loss, 0);
            EXPECT_LT(target.crop_loss, 1);
            if (upscale) continue;
            EXPECT_LE(target.scaled_width, std::max(width, target.width));
            EXPECT_LE(target.scaled_height, std::max(height, target.height));
          }
}

TEST(TargetSize, KeepsAspectAndAreaOfCommonSizes) {
  for (auto [width, height] :
       {std::pair<double, double>{1920, 1080}, {1280, 720}, {960, 720}, {720, 1280}, {1000, 1000}}) {
    const TargetSize target = choose_target(width, height, {{4, 8, 8}, 480 * 832, false});
    EXPECT_GT(target.width * target.height, 0.93 * 480 * 832) << width << "x" << height;
    EXPECT_LT(target.crop_loss, 0.02) << width << "x" << height;
  }
  const TargetSize same = choose_target(96, 64, {{4, 8, 8}, 96 * 64, false});
  EXPECT_EQ(same.width, 96);
  EXPECT_EQ(same.height, 64);
  EXPECT_EQ(same.crop_loss, 0);
}

TEST(TargetSize, KeepsSmallClipsUnlessAsked) {
  const TargetSize kept = choose_target(50, 30, {{4, 8, 8}, 6144, false});
  EXPECT_EQ(kept.width, 48);
  EXPECT_EQ(kept.height, 24);
  EXPECT_EQ(kept.scaled_width, 50);
  EXPECT_THROW(choose_target(1, 1, {{4, 8, 8}, 6144, false}), Error);
  const TargetSize grown = choose_target(1, 1, {{4, 8, 8}, 6144, true});
  EXPECT_EQ(grown.width, grown.height);
  EXPECT_GT(grown.width * grown.height, 4000);
}

TEST(Orientation, ReadsAllEightMatrices) {
  constexpr int32_t kOne = 1 << 16;
  for (int b : {0, 1})
    for (int x : {-1, 1})
      for (int y : {-1, 1}) {
        const int32_t straight[9] = {x * kOne, 0, 0, 0, y * kOne, 0, 0, 0, 1 << 30};
        const int32_t turned[9] = {0, y * kOne, 0, x * kOne, 0, 0, 0, 0, 1 << 30};
        const Orientation found = orientation_of(b ? turned : straight);
        EXPECT_EQ(found, (Orientation{b == 1, x < 0, y < 0}));
      }
  const int32_t clockwise[9] = {0, kOne, 0, -kOne, 0, 0, 0, 0, 1 << 30};
  EXPECT_EQ(orientation_of(clockwise).rotation(), 90);
  EXPECT_FALSE(orientation_of(clockwise).mirrored());
  const int32_t tilted[9] = {46341, 46341, 0, -46341, 46341, 0, 0, 0, 1 << 30};
  EXPECT_THROW(orientation_of(tilted), Error);
  EXPECT_EQ(orientation_of(nullptr), Orientation{});
}

class Pictures : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  DecodedClip decode(const std::string& name, int64_t area = 1 << 24, const Patch& patch = {1, 1, 1}) const {
    DecodeRules rules;
    rules.size = {patch, area, false};
    return decode_file(path(name), rules).at(0);
  }
  TemporaryFolder folder_;
};

/// Writes a copy of an MP4 whose display matrix is replaced.
void set_matrix(const std::string& from, const std::string& to, const std::array<int32_t, 4>& abcd) {
  std::string bytes = read_file(from);
  const size_t box = bytes.find("tkhd");
  ASSERT_NE(box, std::string::npos);
  const int32_t matrix[9] = {abcd[0], abcd[1], 0, abcd[2], abcd[3], 0, 0, 0, 1 << 30};
  size_t at =
      box + 4 + 4 + 20 + 8 + 8;  // version 0: times, id, duration; reserved; layer, group, volume, reserved
  for (int32_t value : matrix)
    for (int shift : {24, 16, 8, 0}) bytes[at++] = char(uint32_t(value) >> shift);
  testing_support::write_text(to, bytes);
}

TEST_F(Pictures, AreRotatedAndMirroredAsTheFileSays) {
  run_ffmpeg("-f lavfi -i testsrc2=s=128x64:r=10:d=0.3 -pix_fmt yuv444p -c:v libx264 -qp 4 " +
             path("in.mp4"));
  constexpr int32_t kOne = 1 << 16;
  const struct {
    std::array<int32_t, 4> abcd;
    const char* filter;
    int rotation;
    bool mirrored;
  } cases[] = {
      {{kOne, 0, 0, kOne}, "null", 0, false},
      {{0, kOne, -kOne, 0}, "transpose=clock", 90, false},
      {{-kOne, 0, 0, -kOne}, "hflip,vflip", 180, false},
      {{0, -kOne, kOne, 0}, "transpose=cclock", 270, false},
      {{-kOne, 0, 0, kOne}, "hflip", 0, true},
      {{kOne, 0, 0, -kOne}, "vflip", 180, true},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.filter);
    set_matrix(path("in.mp4"), path("turned.mp4"), each.abcd);
    const bool swap = each.abcd[0] == 0;
    const OracleFrames oracle =
        decode_with_ffmpeg(path("in.mp4"), swap ? 64 : 128, swap ? 128 : 64, each.filter);
    const DecodedClip decoded = decode("turned.mp4");
    ASSERT_EQ(decoded.refused, "");
    EXPECT_EQ(decoded.facts.rotation, each.rotation);
    EXPECT_EQ(decoded.facts.mirrored, each.mirrored);
    ASSERT_EQ(decoded.clip.width, swap ? 64 : 128);
    // Without subsampled chroma, turning before the conversion, as the oracle does, is turning after it.
    EXPECT_TRUE(std::equal(oracle.rgb[0].begin(), oracle.rgb[0].end(),
                           reinterpret_cast<const char*>(decoded.clip.frame(0))));
  }
}

TEST_F(Pictures, HonourPixelAspectAndOddSizes) {
  run_ffmpeg("-f lavfi -i testsrc2=s=720x576:r=25:d=0.2 -vf setsar=16/15 -c:v libx264 " + path("sar.mp4"));
  const DecodedClip wide = decode("sar.mp4");
  EXPECT_EQ(wide.clip.width, 768);
  EXPECT_EQ(wide.clip.height, 576);
  EXPECT_EQ(wide.facts.pixel_aspect, "16:15");
  run_ffmpeg("-f lavfi -i testsrc=s=321x241:r=25:d=0.2 -c:v libx264 -pix_fmt yuv444p " + path("odd.mp4"));
  const DecodedClip odd = decode("odd.mp4");
  EXPECT_EQ(odd.clip.width, 321);
  EXPECT_EQ(odd.clip.height, 241);
  const OracleFrames oracle = decode_with_ffmpeg(path("odd.mp4"), 321, 241);
  EXPECT_TRUE(std::equal(oracle.rgb[0].begin(), oracle.rgb[0].end(),
                         reinterpret_cast<const char*>(odd.clip.frame(0))));
}

TEST_F(Pictures, AreCutAtTheCentre) {
  // Left third red, middle green, right blue: the centre of a square cut is green on both edges' inner side.
  run_ffmpeg(
      "-f lavfi -i color=red:s=32x32 -f lavfi -i color=lime:s=36x32 -f lavfi -i color=blue:s=32x32 "
      "-filter_complex "
      "[0][1][2]hstack=3 -frames:v 1 " +
      path("bars.png"));
  const DecodedClip decoded = decode("bars.png", 1 << 24, {1, 32, 32});
  ASSERT_EQ(decoded.clip.width, 96);
  const uint8_t* row = decoded.clip.frame(0);
  EXPECT_GT(row[0], 240);  // two columns are cut on each side: 30 of the 32 red ones are left
  EXPECT_GT(row[29 * 3], 200);
  EXPECT_GT(row[30 * 3 + 1], 200);
  EXPECT_GT(row[65 * 3 + 1], 200);
  EXPECT_GT(row[66 * 3 + 2], 200);
  EXPECT_NEAR(decoded.facts.crop_loss, 0.04, 1e-9);
}

}  // namespace
}  // namespace zoetrope
