#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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
  for (const int64_t count : {1, 11, 64, 65, 257}) {
    std::vector<float> bulk(static_cast<size_t>(count));
    fill_normal(key, bulk.data(), count);
    for (int64_t c = 0; c < count; ++c) EXPECT_EQ(bulk[size_t(c)], normal(key, c)) << c << " of " << count;
  }
}

// Box-Muller in double on the same words; the float result is good to a few units of the radius, at most 5.8.
TEST(Philox, NormalIsBoxMullerOfItsWords) {
  const RandomKey key{11, Purpose::kHeldOut, 5, 1};
  for (int64_t group = 0; group < 5000; ++group) {
    const auto words = key.words(group);
    for (size_t pair = 0; pair < 4; pair += 2) {
      const double radius = std::sqrt(-2 * std::log(double(to_uniform(words[pair]))));
      const double angle = 2 * M_PI * double(to_uniform(words[pair + 1]));
      const int64_t channel = 4 * group + int64_t(pair);
      EXPECT_NEAR(normal(key, channel), radius * std::cos(angle), 8 * 0x1p-24 * (1 + radius)) << channel;
      EXPECT_NEAR(normal(key, channel + 1), radius * std::sin(angle), 8 * 0x1p-24 * (1 + radius)) << channel;
    }
  }
}

TEST(Philox, UniformNeverReachesItsEnds) {
  EXPECT_GT(to_uniform(0), 0.0f);
  EXPECT_LT(to_uniform(0xffffffffu), 1.0f);
}

TEST(Philox, MomentsOfNormalNumbers) {
  double sum = 0, squares = 0;
  constexpr int kTokens = 4000, kChannels = 25;
  float row[kChannels];
  for (int token = 0; token < kTokens; ++token) {
    fill_normal({42, Purpose::kNoise, 3, token}, row, kChannels);
    for (float z : row) {
      sum += z;
      squares += double(z) * z;
    }
  }
  const double n = double(kTokens) * kChannels;
  // Five standard errors of the mean (1/sqrt n) and of the variance (sqrt(2/n)).
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(n));
  EXPECT_LT(std::abs(squares / n - 1), 5 * std::sqrt(2 / n));
}

}  // namespace
}  // namespace zoetrope
