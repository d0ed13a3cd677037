#include "model/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace zoetrope {
namespace {

std::vector<std::vector<float>> embedded(const std::string& caption, int64_t rows = 6, uint64_t seed = 17) {
  const Tensor x = Tensor::empty({rows, 33}, DType::kF32);
  embed_text(x, caption, seed);
  std::vector<std::vector<float>> result;
  for (int64_t r = 0; r < rows; ++r) result.emplace_back(x.row<float>(r), x.row<float>(r) + 33);
  return result;
}
const std::vector<float> kZero(33, 0.0f);

TEST(Text, OneRowPerWordThenZeros) {
  const auto rows = embedded("A dog, running.");
  for (size_t r = 0; r < 3; ++r) EXPECT_NE(rows[r], kZero);
  for (size_t r = 3; r < 6; ++r) EXPECT_EQ(rows[r], kZero);
  EXPECT_EQ(rows, embedded("a DOG running"));
  EXPECT_EQ(count_words("A dog, running."), 3);
  EXPECT_EQ(count_words("größe 日本"), 2);
}

TEST(Text, EmptyCaptionHasAnEndRow) {
  const auto rows = embedded("");
  EXPECT_NE(rows[0], kZero);
  EXPECT_EQ(rows[1], kZero);
  EXPECT_EQ(rows, embedded(" ,.! "));
  EXPECT_EQ(count_words(""), 0);
}

TEST(Text, OrderSeedAndPlaceOfAWordCount) {
  EXPECT_NE(embedded("red on blue"), embedded("blue on red"));
  EXPECT_NE(embedded("red", 6, 17), embedded("red", 6, 18));
  EXPECT_EQ(embedded("red on")[0], embedded("red")[0]);
}

TEST(Text, LongCaptionsKeepTheirFirstWords) {
  const auto cut = embedded("one two three four", 2), whole = embedded("one two three four", 6);
  EXPECT_EQ(cut[0], whole[0]);
  EXPECT_EQ(cut[1], whole[1]);
}

}  // namespace
}  // namespace zoetrope
