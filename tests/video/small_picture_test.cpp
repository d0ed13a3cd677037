// Small pictures: sizes, means, places, JPEG read back.
#include "video/media/small_picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/files.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::make_pattern_clip;
using testing_support::TemporaryFolder;

Picture flat(int64_t height, int64_t width, uint8_t value) {
  return {height, width, std::vector<uint8_t>(size_t(height * width * 3), value)};
}

TEST(SmallPicture, FitsItsBoxAtTheFramesAspect) {
  const struct {
    int64_t height, width, to_height, to_width;
  } cases[] = {{480, 832, 74, 128}, {832, 480, 104, 60}, {48, 64, 48, 64},
               {8, 2000, 1, 128},   {2000, 8, 104, 1},   {104, 128, 104, 128}};
  for (const auto& each : cases) {
    const Clip clip = make_pattern_clip(1, each.height, each.width, 8, 1);
    const Picture small = shrink_to_fit(clip.frame(0), each.height, each.width, 104, 128);
    EXPECT_EQ(small.height, each.to_height) << each.width << "x" << each.height;
    EXPECT_EQ(small.width, each.to_width) << each.width << "x" << each.height;
    ASSERT_EQ(small.pixels.size(), size_t(small.height * small.width * 3));
    if (each.height <= 104 && each.width <= 128) { EXPECT_TRUE(small.pixels == clip.pixels); }
  }
}

TEST(SmallPicture, KeepsAFlatColour) {
  const Picture large = flat(300, 400, 77);
  const Picture small = shrink_to_fit(large.pixels.data(), 300, 400, 104, 128);
  for (const uint8_t value : small.pixels) ASSERT_NEAR(value, 77, 1);  // one rounding
}

TEST(SmallPicture, StandsSideBySideInTheMiddle) {
  const Picture strip = side_by_side({flat(4, 3, 200), flat(2, 5, 100)});
  EXPECT_EQ(strip.height, 4);
  EXPECT_EQ(strip.width, 3 + kPictureGap + 5);
  const auto at = [&](int64_t y, int64_t x) { return strip.pixels[size_t((y * strip.width + x) * 3)]; };
  EXPECT_EQ(at(0, 2), 200);
  EXPECT_EQ(at(0, 3), kPictureBackground);
  EXPECT_EQ(at(0, 5), kPictureBackground);
  EXPECT_EQ(at(1, 5), 100);
  EXPECT_EQ(at(2, 9), 100);
  EXPECT_EQ(at(3, 9), kPictureBackground);
}

TEST(SmallPicture, IsAJpegWithTheSameBytesEveryTime) {
  const TemporaryFolder folder;
  for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {74, 388}}) {
    const Clip clip = make_pattern_clip(1, height, width, 8, 5);
    const Picture picture{height, width, clip.pixels};
    const std::string jpeg = encode_jpeg(picture, 2);
    EXPECT_TRUE(jpeg == encode_jpeg(picture, 2));
    write_file_atomically(folder.path() + "/x.jpg", jpeg);
    DecodeRules rules;
    rules.size = {{1, 1, 1}, 1 << 24, false};
    const DecodedClip back = decode_file(folder.path() + "/x.jpg", rules).at(0);
    ASSERT_EQ(back.refused, "");
    ASSERT_EQ(back.clip.width, width);
    ASSERT_EQ(back.clip.height, height);
    double sum = 0, other = 0;  // against the picture itself, and against it with red and blue exchanged
    for (size_t i = 0; i < clip.pixels.size(); ++i) {
      sum += std::abs(int(back.clip.pixels[i]) - int(clip.pixels[i]));
      other += std::abs(int(back.clip.pixels[i]) - int(clip.pixels[i - i % 3 + 2 - i % 3]));
    }
    if (width > 4) { EXPECT_LT(sum * 2, other); }
  }
}

}  // namespace
}  // namespace zoetrope
