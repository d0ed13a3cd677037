#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/dit.h"
#include "model/params.h"

namespace zoetrope::test {
namespace {

constexpr int64_t kChannels = 4, kFrames = 3, kHeight = 4, kWidth = 6, kTextTokens = 5;

/// Element i of the tensor with number k, rounded to float.
double filled(int64_t i, int64_t k, double scale, double offset = 0) {
  return double(float(offset + scale * std::sin(0.7 * double(i) + 1.9 * double(k) + 0.3)));
}

void put(const Tensor& x, int64_t row, int64_t column, double value) {
  if (x.dtype() == DType::kF64) x.row<double>(row)[column] = value;
  else x.row<float>(row)[column] = float(value);
}
double get(const Tensor& x, int64_t row, int64_t column) {
  return x.dtype() == DType::kF64 ? x.row<double>(row)[column] : double(x.row<float>(row)[column]);
}

void fill_parameters(const Parameters& parameters) {
  const Tensor values = host_twin(parameters.values());
  std::vector<std::string> names;
  for (const Parameter& p : parameters.list()) names.push_back(p.name);
  std::sort(names.begin(), names.end());
  for (const Parameter& p : parameters.list()) {
    const int64_t k = std::lower_bound(names.begin(), names.end(), p.name) - names.begin();
    const bool is_norm = p.name.ends_with("norm_q.weight") || p.name.ends_with("norm_k.weight") ||
                         p.name.ends_with("norm3.weight");
    for (int64_t i = 0; i < p.size; ++i)
      put(values.slice_rows(p.offset + i, p.offset + i + 1), 0, 0,
          filled(i, k, p.shape.size() > 1 ? 0.3 : 0.1, is_norm ? 1 : 0));
  }
  from_host(parameters.values(), values);
  parameters.prepare();
}

/// Calls f(row, column in (c, ph, pw), column in (ph, pw, c), index in the latent (c, f, h, w)).
template <class F>
void for_elements(F&& f) {
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t t = 0; t < kFrames; ++t)
      for (int64_t h = 0; h < kHeight; ++h)
        for (int64_t w = 0; w < kWidth; ++w) {
          const int64_t row = (t * (kHeight / 2) + h / 2) * (kWidth / 2) + w / 2, place = h % 2 * 2 + w % 2;
          f(row, c * 4 + place, place * kChannels + c, ((c * kFrames + t) * kHeight + h) * kWidth + w);
        }
}

double norm_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

struct GoldenGradient {
  const char* name;
  double norm, first, last;
};
constexpr GoldenGradient kGradients[] = {
    {"patch_embedding.weight", 2.957887257e+00, +3.124197764e-02, +2.672895502e-01},
    {"patch_embedding.bias", 1.927380532e+00, +2.971697058e-01, -2.308174584e-01},
    {"text_embedding.0.weight", 1.209889800e-01, -9.823039052e-04, +3.846851921e-03},
    {"time_embedding.0.weight", 2.794753685e+01, -8.836920220e-02, +1.369727364e-01},
    {"time_projection.1.weight", 8.914818209e+00, -1.079892036e-04, -3.990310763e-02},
    {"blocks.0.modulation", 3.687578145e+00, -7.474398830e-03, +1.131414422e-01},
    {"blocks.0.self_attn.q.weight", 2.298656623e-02, -9.348807266e-04, +4.124851134e-05},
    {"blocks.0.self_attn.norm_k.weight", 2.739789848e-02, -7.089312250e-05, +1.635800195e-03},
    {"blocks.0.cross_attn.k.weight", 1.934537448e-01, +2.671285290e-03, +3.224921096e-03},
    {"blocks.0.norm3.weight", 1.103506012e-03, +3.099940009e-05, +1.634205412e-04},
    {"blocks.0.ffn.0.weight", 1.967122715e+00, -6.145348195e-02, +1.078422490e-07},
    {"blocks.1.self_attn.o.bias", 1.283197842e+00, +6.092726415e-02, +4.296118466e-02},
    {"blocks.1.cross_attn.norm_q.weight", 1.765944792e-03, -1.534333009e-04, -3.864467007e-04},
    {"head.modulation", 5.876713771e+00, +3.822169888e-01, -5.476620430e-01},
    {"head.head.weight", 9.764673965e+00, -8.105147442e-01, -5.831187897e-02},
};
constexpr double kAllGradients = 7.589525553e+01, kLoss = 4.347016675;

}  // namespace

ModelConfig golden_config() {
  ModelConfig config;
  config.width = 48;
  config.num_heads = 2;
  config.num_layers = 2;
  config.ffn = 80;
  config.frequency_width = 32;
  config.text_width = 24;
  config.text_rows = 8;
  config.in_channels = config.out_channels = kChannels;
  config.patch = {1, 2, 2};
  return config;
}

Golden::Golden(const Ops& ops, Precision precision, bool recompute) {
  ModelConfig config = golden_config();
  config.recompute = recompute;
  Parameters parameters(config, precision, ops);
  fill_parameters(parameters);
  Arena arena(16 << 20, ops.device(), "golden");
  Dit dit(config, precision, ops, parameters, {}, arena);
  MicroBatch batch;
  Segment& segment = batch.segments.emplace_back();
  segment.end = segment.sample_tokens = 18;
  segment.grid = {3, 2, 3};
  DitInput input{arena.take({18, 16}, precision.compute), {437.5}, arena.take({8, 24}, precision.compute)};
  const Tensor features = host_twin(input.features), text = host_twin(input.text);
  fill_zero(text);
  for_elements(
      [&](int64_t row, int64_t in, int64_t, int64_t i) { put(features, row, in, filled(i, 100, 1)); });
  for (int64_t i = 0; i < kTextTokens * 24; ++i) put(text, i / 24, i % 24, filled(i, 101, 1));
  from_host(input.features, features);
  from_host(input.text, text);
  const Tensor y = to_host(dit.forward(batch, input, true));
  const Tensor dy = arena.take({18, 16}, precision.compute), host_dy = host_twin(dy);
  output.resize(288);
  for_elements([&](int64_t row, int64_t, int64_t out, int64_t i) {
    output[size_t(i)] = get(y, row, out);
    const double error = output[size_t(i)] - filled(i, 102, 1);
    loss += error * error / 288;
    put(host_dy, row, out, 2 * error / 288);
  });
  from_host(dy, host_dy);
  dit.backward(batch, input, dy);
  const Tensor all = to_host(parameters.grads());
  for (const Parameter& p : parameters.list()) {
    std::vector<double>& grad = grads[p.name];
    for (int64_t i = 0; i < p.size; ++i)
      grad.push_back(get(all.slice_rows(p.offset + i, p.offset + i + 1), 0, 0));
  }
}

void expect_golden(const Golden& found, double output_bound, double gradient_bound, double absolute) {
  double sum = 0, magnitude = 0, squares = 0;
  for (const double y : found.output) {
    sum += y;
    magnitude += std::abs(y);
  }
  const double n = 288;
  EXPECT_NEAR(sum, -17.239973134, n * output_bound);
  EXPECT_NEAR(magnitude, 513.118090833, n * output_bound);
  const double printed = 5e-8;  // half a unit of the seventh decimal that is listed
  const double first[] = {-2.1290931, 2.6042177, -2.2431529, 2.7497604}, last[] = {-2.5219275, 1.0880038};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found.output[i], first[i], output_bound + printed);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(found.output[286 + i], last[i], output_bound + printed);
  EXPECT_NEAR(found.loss, kLoss, kLoss * gradient_bound);
  for (const GoldenGradient& golden : kGradients) {
    const std::vector<double>& grad = found.grads.at(golden.name);
    const double bound = std::max(gradient_bound * golden.norm, absolute);
    // Elements that are each off by the bound move the norm by at most sqrt(count) times as much.
    EXPECT_NEAR(norm_of(grad), golden.norm, bound * std::sqrt(double(grad.size()))) << golden.name;
    EXPECT_NEAR(grad.front(), golden.first, bound) << golden.name;
    EXPECT_NEAR(grad.back(), golden.last, bound) << golden.name;
  }
  for (const auto& [name, grad] : found.grads) squares += norm_of(grad) * norm_of(grad);
  EXPECT_NEAR(std::sqrt(squares), kAllGradients, gradient_bound * kAllGradients);
}

}  // namespace zoetrope::test
