// Written pictures and videos, read back by our own decoder.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"
#include "video/media/encode.h"

namespace zoetrope {
namespace {

using testing_support::make_pattern_clip;
using testing_support::TemporaryFolder;

DecodedClip read_back(const std::string& path, double fps) {
  DecodeRules rules;
  rules.fps = fps;
  rules.size = {{1, 1, 1}, 1 << 24, false};
  return decode_file(path, rules).at(0);
}

TEST(Png, ReturnsEveryPixel) {
  const TemporaryFolder folder;
  for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {2, 3}, {31, 33}, {64, 257}}) {
    const Clip clip = make_pattern_clip(1, height, width, 8, uint64_t(width));
    const std::string path = folder.path() + "/x.png";
    write_png(path, clip.frame(0), height, width);
    const DecodedClip back = read_back(path, 8);
    ASSERT_EQ(back.refused, "");
    ASSERT_EQ(back.clip.width, width);
    EXPECT_TRUE(back.clip.pixels == clip.pixels) << width << "x" << height;
  }
}

TEST(Mp4, KeepsFramesTimesAndColours) {
  const TemporaryFolder folder;
  for (auto [height, width] : {std::pair<int64_t, int64_t>{64, 96}, {63, 95}, {8, 8}})
    for (int64_t frames : {1, 2, 17}) {
      const Clip clip = make_pattern_clip(frames, height, width, 8, 3);
      const std::string path = folder.path() + "/x.mp4";
      const std::string encoder = write_mp4(path, clip);
      EXPECT_TRUE(encoder == "libx264" || encoder == "mpeg4");
      const DecodedClip back = read_back(path, 8);
      ASSERT_EQ(back.refused, "");
      EXPECT_FALSE(back.found_damage);
      ASSERT_EQ(back.clip.num_frames, frames);
      EXPECT_EQ(back.clip.width, width + width % 2);
      EXPECT_EQ(back.clip.height, height + height % 2);
      EXPECT_EQ(back.facts.color_matrix, "bt709");
      double sum = 0;
      for (int64_t t = 0; t < frames; ++t)
        for (int64_t y = 0; y < height; ++y)
          for (int64_t i = 0; i < width * 3; ++i)
            sum += std::abs(int(clip.frame(t)[y * width * 3 + i]) -
                            int(back.clip.frame(t)[y * back.clip.width * 3 + i]));
      // Lossy, with halved chroma: near, and far from the 60 and more of a wrong matrix order or a shifted
      // frame.
      EXPECT_LT(sum / double(frames * height * width * 3), 20) << width << "x" << height;
    }
}

TEST(Mp4, HasTheSameBytesEveryTimeAndAppearsWhole) {
  const TemporaryFolder folder;
  const Clip clip = make_pattern_clip(9, 32, 32, 8, 3);
  write_mp4(folder.path() + "/a.mp4", clip);
  write_mp4(folder.path() + "/b.mp4", clip);
  EXPECT_TRUE(read_file(folder.path() + "/a.mp4") == read_file(folder.path() + "/b.mp4"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
  EXPECT_THROW(write_mp4(folder.path() + "/none/a.mp4", clip), Error);
  EXPECT_THROW(write_mp4(folder.path() + "/c.mp4", Clip{}), Error);
}

TEST(ContactSheet, ShowsFirstAndLastFrame) {
  const TemporaryFolder folder;
  const Clip clip = make_pattern_clip(41, 16, 24, 8, 3);
  write_contact_sheet(folder.path() + "/sheet.png", clip, 16);
  const DecodedClip back = read_back(folder.path() + "/sheet.png", 8);
  ASSERT_EQ(back.clip.width, 4 * 26 + 2);
  ASSERT_EQ(back.clip.height, 4 * 18 + 2);
  const auto pixel = [&](int64_t x, int64_t y) { return back.clip.frame(0)[(y * back.clip.width + x) * 3]; };
  EXPECT_EQ(pixel(2, 2), clip.frame(0)[0]);
  EXPECT_EQ(pixel(3 * 26 + 2, 3 * 18 + 2), clip.frame(40)[0]);
  EXPECT_EQ(pixel(0, 0), 32);
}

}  // namespace
}  // namespace zoetrope
