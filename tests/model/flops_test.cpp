// FLOP counts of small networks, added up by hand.
#include "model/flops.h"

#include <gtest/gtest.h>

#include <vector>

namespace zoetrope {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.width = 4, config.num_layers = 2, config.num_heads = 2, config.ffn = 8;
  config.frequency_width = 6, config.text_width = 5, config.text_rows = 3;
  config.in_channels = 1, config.out_channels = 2;
  config.patch = {1, 2, 2};
  return config;
}

TEST(Flops, AgreeWithACountByHand) {
  // Multiply-adds of one sample of 5 tokens:
  const double embed_patch = 5 * 4 * 4, head = 5 * 4 * 8;
  const double embed_time = 6 * 4 + 4 * 4 + 4 * 24, embed_text = 3 * (5 * 4 + 4 * 4);
  const double self = 5 * (4 * 12 + 4 * 4) + 2 * 5 * 5 * 4;
  const double cross = 5 * (4 * 4 + 4 * 4) + 3 * (2 * 4 * 4) + 2 * 5 * 3 * 4;
  const double mlp = 5 * (4 * 8 + 8 * 4);
  const double expected = 2 * (embed_patch + head + embed_time + embed_text + 2 * (self + cross + mlp));
  EXPECT_DOUBLE_EQ(forward_flops(tiny(), std::vector<int64_t>{5}), expected);
  EXPECT_EQ(forward_flops(tiny(), 5), forward_flops(tiny(), std::vector<int64_t>{5}));
  EXPECT_DOUBLE_EQ(train_flops(tiny(), std::vector<int64_t>{5}), 3 * expected);
}

TEST(Flops, SamplesAddUpAndOnlyAttentionGrowsWithTheSquare) {
  const ModelConfig config = tiny();
  const auto of = [&](std::vector<int64_t> lengths) { return forward_flops(config, lengths); };
  EXPECT_EQ(of({}), 0);
  EXPECT_DOUBLE_EQ(of({7, 9}), of({7}) + of({9}));
  // f(S) = a + b S + c S^2: the second difference is 2 c = 2 * 2 * layers * 2 width.
  EXPECT_DOUBLE_EQ(of({12}) - 2 * of({11}) + of({10}), 2.0 * 2 * 2 * 2 * 4);
}

}  // namespace
}  // namespace zoetrope
