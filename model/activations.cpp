#include "model/activations.h"

#include <algorithm>

#include "model/dit.h"

namespace zoetrope {

Tensor Placer::take(int64_t rows, int64_t columns, DType dtype) {
  bytes_ += rows * columns * int64_t(size_of(dtype));
  ++num_tensors_;
  return arena_ ? arena_->take({rows, columns}, dtype) : Tensor();
}

Tensor Placer::wide_vector(int64_t size) {
  const Tensor vector = take(size, 1, precision_.wide);
  return arena_ ? vector.reshape({size}) : vector;
}

Tensor Placer::ids(int64_t size) {
  const Tensor vector = take(size, 1, DType::kI32);
  return arena_ ? vector.reshape({size}) : vector;
}

void FlowBuffers::place(Placer& placer, const ModelConfig& config, BatchSizes sizes) {
  features = placer.narrow(sizes.tokens, config.in_features());
  target = placer.wide(sizes.tokens, config.out_features());
  weight = placer.wide_vector(sizes.tokens);
  row_loss = placer.wide_vector(sizes.tokens);
  text = placer.narrow(sizes.segments * config.text_rows, config.text_width);
  dprediction = placer.narrow(sizes.tokens, config.out_features());
}

void DitBuffers::place(Placer& placer, const ModelConfig& config, BatchSizes sizes, bool keep) {
  const int64_t T = sizes.tokens, S = sizes.segments, D = config.width, rows = S * config.text_rows;
  prediction = placer.wide(T, config.out_features());
  segment = placer.ids(T);
  rotation = placer.wide(T, config.head_width());
  frequencies = placer.wide(S, config.frequency_width);
  time_hidden = placer.wide(S, D);
  time_active = placer.wide(S, D);
  time_silu = placer.wide(S, D);
  modulation = placer.wide(S, 7 * D);
  text_hidden = placer.narrow(rows, D);
  text_active = placer.narrow(rows, D);
  text = placer.narrow(rows, D);
  head_stats = placer.wide(T, 2);
  head_modulation = placer.wide(S, 2 * D);
  head_normed = placer.narrow(T, D);
  x = placer.wide(T, D);
  if (!keep) return;
  dx = placer.wide(T, D);
  dmodulation = placer.wide(S, 7 * D);
  dtext = placer.wide(rows, D);
}

void BlockKept::place_light(Placer& placer, const ModelConfig& config, BatchSizes sizes, bool with_output) {
  attended = placer.narrow(sizes.tokens, config.width);
  lse = placer.wide(sizes.tokens, config.num_heads);
  if (with_output) output = placer.wide(sizes.tokens, config.width);
}

void BlockKept::place_rest(Placer& placer, const ModelConfig& config, BatchSizes sizes) {
  const int64_t T = sizes.tokens, D = config.width, F = config.ffn, rows = sizes.segments * config.text_rows;
  stats1 = placer.wide(T, 2);
  normed1 = placer.narrow(T, D);
  qkv = placer.narrow(T, 3 * D);
  q = placer.narrow(T, D);
  k = placer.narrow(T, D);
  rstd_q = placer.wide_vector(T);
  rstd_k = placer.wide_vector(T);
  branch1 = placer.narrow(T, D);
  x1 = placer.wide(T, D);
  stats3 = placer.wide(T, 2);
  normed3 = placer.narrow(T, D);
  cross_q_raw = placer.narrow(T, D);
  cross_q = placer.narrow(T, D);
  cross_rstd_q = placer.wide_vector(T);
  cross_kv = placer.narrow(rows, 2 * D);
  cross_k = placer.narrow(rows, D);
  cross_rstd_k = placer.wide_vector(rows);
  cross_attended = placer.narrow(T, D);
  cross_lse = placer.wide(T, config.num_heads);
  x2 = placer.wide(T, D);
  stats2 = placer.wide(T, 2);
  normed2 = placer.narrow(T, D);
  hidden = placer.narrow(T, F);
  active = placer.narrow(T, F);
  branch2 = placer.narrow(T, D);
}

void BlockScratch::place_forward(Placer& placer, const ModelConfig& config, BatchSizes sizes) {
  modulation = placer.wide(sizes.segments, 6 * config.width);
  narrow1 = placer.narrow(sizes.tokens, config.width);
}

void BlockScratch::place_backward(Placer& placer, const ModelConfig& config, Precision precision,
                                  BatchSizes sizes) {
  place_forward(placer, config, sizes);
  const int64_t T = sizes.tokens, S = sizes.segments, D = config.width, rows = S * config.text_rows;
  const int64_t narrow_bytes = int64_t(size_of(precision.compute)),
                wide_bytes = int64_t(size_of(precision.wide));
  const bool same = precision.compute == precision.wide;
  narrow2 = placer.narrow(T, D);
  dmodulation = placer.wide(S, 6 * D);
  const int64_t qkv_bytes = 3 * D * wide_bytes + (same ? 0 : 3 * D * narrow_bytes);
  const Tensor shared = placer.take(T, std::max(config.ffn * narrow_bytes, qkv_bytes), DType::kU8);
  dkv_wide = placer.wide(rows, 2 * D);
  dkv = same ? dkv_wide : placer.narrow(rows, 2 * D);
  dtext = placer.wide(rows, D);
  if (!shared.defined()) return;
  char* start = static_cast<char*>(shared.raw());
  dhidden = Tensor::wrap(start, {T, config.ffn}, precision.compute, shared.device());
  dqkv = Tensor::wrap(start + (same ? 0 : T * 3 * D * wide_bytes), {T, 3 * D}, precision.compute,
                      shared.device());
  int64_t part = 0;
  for (Tensor* wide : {&dq_wide, &dk_wide, &dv_wide}) {
    *wide = same ? dqkv.columns(part * D, (part + 1) * D)
                 : Tensor::wrap(start + part * T * D * wide_bytes, {T, D}, precision.wide, shared.device());
    ++part;
  }
}

namespace {

/// Bytes of one micro-batch without padding, at the peak: the backward of the last block.
struct Peak {
  int64_t bytes = 0, num_tensors = 0;
};
Peak peak_of(const ModelConfig& config, Precision precision, BatchSizes sizes) {
  Placer fixed(nullptr, precision), light(nullptr, precision), rest(nullptr, precision);
  FlowBuffers().place(fixed, config, sizes);
  DitBuffers().place(fixed, config, sizes, true);
  BlockScratch().place_backward(fixed, config, precision, sizes);
  fixed.wide(sizes.tokens, config.num_heads);  // attention's row sums in backward
  BlockKept().place_light(light, config, sizes, true);
  BlockKept().place_rest(rest, config, sizes);
  const int64_t num_rests = config.recompute ? 1 : config.num_layers;
  return {fixed.bytes() + config.num_layers * light.bytes() + num_rests * rest.bytes(),
          fixed.num_tensors() + config.num_layers * light.num_tensors() + num_rests * rest.num_tensors()};
}

}  // namespace

ActivationBytes activation_bytes(const ModelConfig& config, Precision precision) {
  ActivationBytes bytes;
  bytes.per_token = peak_of(config, precision, {1, 0}).bytes;
  bytes.per_segment = peak_of(config, precision, {0, 1}).bytes;
  bytes.fixed = 63 * peak_of(config, precision, {1, 1}).num_tensors;  // padding to 64 bytes
  return bytes;
}

}  // namespace zoetrope
