// Tokens that are made frame by frame, straight from decoded pictures: the same bytes as pictures that are
// cut into patches afterwards, for patches and turns that take either way.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/picture_reference.h"
#include "video/pixels/token_converter.h"
#include "video/tokens.h"

extern "C" {
#include <libavutil/display.h>
}

namespace zoetrope {
namespace {

using testing_support::make_random_picture;
using testing_support::RandomPicture;

constexpr int kWidth = 150, kHeight = 83;  // cropped to whole patches, and the last band of rows is half
constexpr int kFrames = 6;                 // 5 = 1 + 4 are used

std::vector<RandomPicture> random_pictures(uint64_t seed) {
  std::vector<RandomPicture> pictures;
  for (int i = 0; i < kFrames; ++i)
    pictures.push_back(make_random_picture(AV_PIX_FMT_YUV420P, kWidth, kHeight, seed + uint64_t(i)));
  return pictures;
}

std::vector<uint8_t> bytes_of(const Tokens& tokens) {
  const auto* first = tokens.tokens.data<uint8_t>();
  return {first, first + tokens.tokens.bytes()};
}

/// Every frame to a picture, the pictures to tokens.
Tokens by_pictures(const std::vector<RandomPicture>& pictures, const SizeRule& rule, const int32_t* matrix,
                   int64_t frames) {
  FrameConverter converter(rule);
  Clip clip;
  clip.num_frames = frames;
  for (int64_t i = 0; i < frames; ++i) {
    converter.prepare(*pictures[size_t(i)].frame, matrix, {1, 1});
    clip.width = converter.target().width, clip.height = converter.target().height;
    clip.pixels.resize(size_t((i + 1) * clip.width * clip.height * 3));
    converter.convert(*pictures[size_t(i)].frame, matrix, {1, 1}, clip.frame(i));
  }
  return tokenize(clip, rule.patch);
}

/// Room is reserved for one frame alone, so that it has to grow.
TokenFrames by_frames(const std::vector<RandomPicture>& pictures, const SizeRule& rule,
                      const int32_t* matrix) {
  TokenConverter converter(rule);
  converter.prepare(*pictures[0].frame, matrix, {1, 1});
  const TargetSize size = converter.pictures().target();
  TokenFrames frames(rule.patch, size.height, size.width, 1);
  for (size_t i = 0; i < pictures.size(); ++i) {
    frames.add();
    converter.convert(*pictures[i].frame, matrix, {1, 1}, frames.place(int64_t(i)));
  }
  return frames;
}

TEST(TokenFrames, AreTheTokensOfThePictures) {
  const uint64_t seed = std::random_device{}();
  const std::vector<RandomPicture> pictures = random_pictures(seed);
  for (const Patch& patch :
       {Patch{4, 8, 8}, Patch{1, 8, 8}, Patch{2, 4, 8}, Patch{3, 16, 16}, Patch{4, 1, 1}})
    for (const double angle : {0.0, 90.0, 180.0}) {
      SCOPED_TRACE(
          join_message("patch ", patch.t, "x", patch.h, "x", patch.w, " turned by ", angle, ", seed ", seed));
      int32_t matrix[9];
      av_display_rotation_set(matrix, angle);
      const SizeRule rule{patch, 80 * 64, false};
      for (int64_t frames : {whole_frames(kFrames, patch), int64_t(1)})
        EXPECT_TRUE(bytes_of(by_frames(pictures, rule, matrix).take(frames)) ==
                    bytes_of(by_pictures(pictures, rule, matrix, frames)))
            << frames << " frames";
    }
}

TEST(TokenFrames, PlainLoopsGiveTheSamePatches) {
  const uint64_t seed = std::random_device{}();
  const std::vector<RandomPicture> pictures = random_pictures(seed);
  pixels::PictureConverter converter;
  for (const int64_t height : {48, 40}) {  // whole bands of sixteen rows, and half a one
    const TargetSize size{88, height, 88, height, 0};
    const Patch patch;
    TokenFrames best(patch, size.height, size.width, 1), plain(patch, size.height, size.width, 1);
    for (TokenFrames* frames : {&best, &plain}) {
      frames->add();
      const TokenPlace to = frames->place(0);
      pixels::PictureJob job = converter.job_for(*pictures[0].frame, size, {}, nullptr);
      job.patches = {to.first, to.row_bytes(), to.token_bytes(), to.channel_bytes()};
      if (frames == &best) run_picture_job(job);
      else run_picture_job_plainly(job);
    }
    EXPECT_TRUE(bytes_of(best.take(1)) == bytes_of(plain.take(1))) << "seed " << seed;
  }
}

TEST(TokenFrames, RepeatedAndTakenBackFramesAreAsIfNeverThere) {
  const uint64_t seed = std::random_device{}();
  std::vector<RandomPicture> pictures = random_pictures(seed);
  const SizeRule rule{{2, 8, 8}, 80 * 64, false};
  TokenFrames frames = by_frames(pictures, rule, nullptr);
  frames.cut(2);
  frames.add();
  copy_picture(frames.place(2), frames.place(0));  // the first frame once more
  std::vector<RandomPicture> expected;
  for (size_t i : {0, 1, 0})
    expected.push_back(make_random_picture(AV_PIX_FMT_YUV420P, kWidth, kHeight, seed + i));
  EXPECT_TRUE(bytes_of(frames.take(3)) == bytes_of(by_pictures(expected, rule, nullptr, 3)))
      << "seed " << seed;
}

/// Frames that come and go, the same with a sink and without; what the sink got comes first.
std::string bytes_with_sink(bool sinks, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Patch patch{2, 8, 8};
  std::string got;
  TokenSink sink;
  if (sinks) {
    sink.put = [&](const Tensor& rows) {
      got.append(static_cast<const char*>(rows.raw()), size_t(rows.bytes()));
    };
    sink.read_back = [&](const Tensor& rows) {
      EXPECT_LE(size_t(rows.bytes()), got.size());
      std::memcpy(rows.raw(), got.data(), size_t(rows.bytes()));
    };
  }
  TokenFrames frames(patch, 16, 24, 1, sink);
  const int64_t count = 1 + int64_t(random() % 12);
  std::vector<uint8_t> rgb(16 * 24 * 3);
  for (int64_t i = 0; i < count; ++i) {
    frames.add();
    if (i > 0 && random() % 2 == 0) {
      copy_picture(frames.place(i), frames.place(i - 1));
      continue;
    }
    for (uint8_t& level : rgb) level = uint8_t(random());
    put_picture(frames.place(i), rgb.data());
  }
  if (random() % 2 == 0) frames.cut(1 + int64_t(random() % uint64_t(count)));  // held from here on
  const Tokens rest = frames.take(whole_frames(frames.num_frames(), patch));
  if (rest.tokens.rows() == 0) {
    EXPECT_EQ(int64_t(got.size()), rest.num_tokens() * 3 * patch.t * patch.h * patch.w);
    return got;
  }
  return {static_cast<const char*>(rest.tokens.raw()), size_t(rest.tokens.bytes())};
}

TEST(TokenFrames, GoToASinkAsTheyAreHeld) {
  const uint64_t seed = std::random_device{}();
  for (uint64_t i = 0; i < 200; ++i)
    EXPECT_TRUE(bytes_with_sink(true, seed + i) == bytes_with_sink(false, seed + i)) << "seed " << seed + i;
}

}  // namespace
}  // namespace zoetrope
