// The pixel codec is an exact inverse pair, and its order of elements is the documented one.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/small_dataset.h"
#include "video/tokens.h"

namespace zoetrope {
namespace {

using testing_support::make_pattern_clip;

TEST(PixelCodec, ReturnsEveryFrameBitForBit) {
  const Patch patches[] = {{4, 8, 8}, {1, 1, 1}, {1, 8, 8}, {2, 3, 5}, {4, 1, 7}, {33, 2, 2}};
  const int64_t rows[] = {0, 1, 2, 5};
  for (const Patch& patch : patches)
    for (int64_t later : rows)
      for (int64_t high : {1, 2, 3}) {
        const int64_t frames = 1 + later * patch.t, height = high * patch.h, width = (4 - high) * patch.w;
        const Clip clip = make_pattern_clip(frames, height, width, 8, uint64_t(frames * 100 + high));
        const Tokens tokens = tokenize(clip, patch);
        EXPECT_EQ(tokens.num_tokens(), (1 + later) * high * (4 - high));
        EXPECT_EQ(tokens.tokens.row_size(), 3 * patch.t * patch.h * patch.w);
        const Clip back = untokenize(tokens, patch, 8);
        EXPECT_EQ(back.num_frames, frames);
        EXPECT_EQ(back.height, height);
        EXPECT_EQ(back.width, width);
        EXPECT_TRUE(back.pixels == clip.pixels) << frames << "x" << height << "x" << width;
      }
}

TEST(PixelCodec, PutsElementsWhereTheHeaderSays) {
  const Patch patch{2, 3, 4};
  const Clip clip = make_pattern_clip(5, 6, 8, 8, 7);
  const Tokens tokens = tokenize(clip, patch);
  ASSERT_EQ(tokens.grid, (std::array<int64_t, 3>{3, 2, 2}));
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t y = 0; y < 2; ++y)
      for (int64_t x = 0; x < 2; ++x)
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t pt = 0; pt < 2; ++pt)
            for (int64_t ph = 0; ph < 3; ++ph)
              for (int64_t pw = 0; pw < 4; ++pw) {
                const int64_t frame = t == 0 ? 0 : 1 + (t - 1) * 2 + pt;
                const uint8_t pixel = clip.frame(frame)[((y * 3 + ph) * 8 + x * 4 + pw) * 3 + c];
                ASSERT_EQ(tokens.tokens.row<uint8_t>((t * 2 + y) * 2 + x)[((c * 2 + pt) * 3 + ph) * 4 + pw],
                          pixel);
              }
}

TEST(PixelCodec, AveragesCopiesOfTheFirstFrameThatDiffer) {
  const Patch patch{4, 1, 1};
  Tokens tokens{{1, 1, 1}, Tensor::zeros({1, 12}, DType::kU8)};
  const uint8_t copies[] = {10, 20, 31, 40};  // mean 25.25
  std::copy(copies, copies + 4, tokens.tokens.data<uint8_t>() + 4);
  EXPECT_EQ(untokenize(tokens, patch, 8).pixels, (std::vector<uint8_t>{0, 25, 0}));
}

TEST(PixelCodec, CountsWholeFrames) {
  const Patch patch{4, 8, 8};
  const int64_t expected[] = {0, 1, 1, 1, 1, 5, 5, 5, 5, 9};
  for (int64_t frames = 0; frames < 10; ++frames)
    EXPECT_EQ(whole_frames(frames, patch), expected[frames]) << frames;
  EXPECT_EQ(frames_of_grid(0, patch), 0);
  EXPECT_EQ(frames_of_grid(3, patch), 9);
}

TEST(PixelCodec, RefusesWhatDoesNotFit) {
  const Patch patch{4, 8, 8};
  EXPECT_THROW(tokenize(make_pattern_clip(4, 8, 8, 8, 1), patch), Error);
  EXPECT_THROW(tokenize(make_pattern_clip(5, 9, 8, 8, 1), patch), Error);
  EXPECT_THROW(tokenize(make_pattern_clip(5, 8, 7, 8, 1), patch), Error);
  EXPECT_THROW(untokenize({{1, 1, 1}, Tensor::zeros({1, 767}, DType::kU8)}, patch, 8), Error);
  EXPECT_THROW(grid_of(5, 8, 8, {0, 8, 8}), Error);
}

}  // namespace
}  // namespace zoetrope
