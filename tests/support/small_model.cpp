#include "tests/support/small_model.h"

namespace zoetrope::test {

ModelConfig small_model_config() {
  ModelConfig config;
  config.width = 12;
  config.num_heads = 2;
  config.num_layers = 2;
  config.ffn = 20;
  config.frequency_width = 8;
  config.text_width = 6;
  config.text_rows = 3;
  config.patch = {1, 2, 2};
  return config;
}

MicroBatch make_batch(const std::vector<SmallSegment>& segments, const ModelConfig& config) {
  MicroBatch batch;
  int64_t rows = 0;
  for (const SmallSegment& s : segments) {
    Segment segment;
    segment.sample = s.sample;
    segment.draw = 100 + s.sample;
    segment.begin = s.begin;
    segment.end = s.end;
    segment.grid = s.grid;
    segment.sample_tokens = s.grid[0] * s.grid[1] * s.grid[2];
    segment.row = rows;
    segment.caption = "sample number " + std::to_string(s.sample);
    rows += segment.num_tokens();
    batch.segments.push_back(segment);
  }
  batch.tokens = Tensor::empty({rows, config.in_features()}, DType::kU8);
  for (const Segment& segment : batch.segments)
    for (int64_t t = segment.begin; t < segment.end; ++t)
      for (int64_t c = 0; c < config.in_features(); ++c) {
        const float u = uniform({5, Purpose::kSampling, segment.draw, t}, c);
        batch.tokens.row<uint8_t>(segment.row + t - segment.begin)[c] = uint8_t(255 * u);
      }
  return batch;
}

SmallModel::SmallModel(const Ops& ops, Arena& arena, Precision precision, const ModelConfig& the_config, const FlowConfig& flow_config,
                       const OptimizerConfig& optimisation)
    : config(the_config),
      parameters(config, precision, ops),
      optimizer(optimisation, parameters, ops),
      dit(config, precision, ops, parameters, {}, arena),
      flow(flow_config, config, precision, ops, dit, arena, 3) {
  parameters.initialise(7);
  // Away from special points: some parameters start as zeros, which would hide wrong gradients.
  const Tensor& values = parameters.values();
  for (int64_t i = 0; i < parameters.count(); ++i) {
    const float nudge = 0.1f * normal({9, Purpose::kInitialisation, 1, i});
    if (values.dtype() == DType::kF64) values.data<double>()[i] += nudge;
    else values.data<float>()[i] += nudge;
  }
  parameters.prepare();
}

std::vector<double> SmallModel::gradients() const {
  std::vector<double> all;
  const Tensor& grads = parameters.grads();
  for (int64_t i = 0; i < parameters.count(); ++i)
    all.push_back(grads.dtype() == DType::kF64 ? grads.data<double>()[i] : double(grads.data<float>()[i]));
  return all;
}

}  // namespace zoetrope::test
