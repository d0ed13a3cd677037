#include "core/rng.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

// Known answers of the reference implementation's test vectors (Random123 1.09, kat_vectors).
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, NormalEqualsItsBulkForm) {
  const RandomKey key{7, Purpose::kNoise, 123456789012, 77};
  float bulk[11];
  fill_normal(key, bulk, 11);
  for (int64_t c = 0; c < 11; ++c) EXPECT_EQ(bulk[c], normal(key, c)) << c;
}

TEST(Philox, MomentsOfNormalNumbers) {
  double sum = 0, squares = 0;
  constexpr int kTokens = 4000, kChannels = 25;
  float row[kChannels];
  for (int token = 0; token < kTokens; ++token) {
    fill_normal({42, Purpose::kNoise, 3, token}, row, kChannels);
    for (float z : row) { sum += z; squares += double(z) * z; }
  }
  const double n = double(kTokens) * kChannels;
  // Five standard errors of the mean (1/sqrt n) and of the variance (sqrt(2/n)).
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(n));
  EXPECT_LT(std::abs(squares / n - 1), 5 * std::sqrt(2 / n));
}

}  // namespace
}  // namespace zoetrope
