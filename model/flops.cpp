#include "model/flops.h"

namespace zoetrope {

double forward_flops(const ModelConfig& config, std::span<const int64_t> sample_tokens) {
  const double width = double(config.width), ffn = double(config.ffn), layers = double(config.num_layers);
  const double text_rows = double(config.text_rows);
  // Multiply-adds per token: patch embedding; q, k, v, o of self-attention, q, o of cross-attention and its
  // scores and values over the text rows, the MLP; the head.
  const double per_token = double(config.in_features()) * width + width * double(config.out_features()) +
                           layers * (6 * width * width + 2 * text_rows * width + 2 * width * ffn);
  // Per pair of tokens of a sample: scores and values.
  const double per_pair = layers * 2 * width;
  // Per sample: time embedding (two products) and its projection to six vectors; text embedding (two
  // products) and cross-attention's k, v per text row.
  const double per_sample =
      double(config.frequency_width) * width + 7 * width * width +
      text_rows * (double(config.text_width) * width + width * width + layers * 2 * width * width);
  double multiply_adds = 0;
  for (const int64_t tokens : sample_tokens)
    multiply_adds += per_sample + double(tokens) * per_token + double(tokens) * double(tokens) * per_pair;
  return 2 * multiply_adds;
}

double forward_flops(const ModelConfig& config, int64_t tokens) {
  return forward_flops(config, {&tokens, 1});
}

double train_flops(const ModelConfig& config, std::span<const int64_t> sample_tokens) {
  return 3 * forward_flops(config, sample_tokens);
}

}  // namespace zoetrope
