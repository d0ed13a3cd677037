#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

Device device_of(WholeModel::Backend backend) {
  return backend == WholeModel::Backend::kCuda ? Device::kCuda : Device::kCpu;
}
std::unique_ptr<Ops> ops_for(WholeModel::Backend backend, const ThreadPool& pool, Arena& workspace) {
  if (backend == WholeModel::Backend::kReference) return std::make_unique<ReferenceOps>();
  return make_ops(device_of(backend), pool, workspace);
}
Precision precision_for(WholeModel::Backend backend, Precision precision) {
  return backend == WholeModel::Backend::kReference ? Precision{DType::kF64, DType::kF64} : precision;
}

}  // namespace

ModelConfig awkward_config() {
  ModelConfig config;
  config.width = 12;
  config.num_heads = 2;
  config.num_layers = 2;
  config.ffn = 20;
  config.frequency_width = 6;
  config.text_width = 5;
  config.text_rows = 3;
  config.patch = {1, 2, 2};
  return config;
}

MicroBatch pack(const std::vector<RangeSpec>& ranges, const ModelConfig& config) {
  MicroBatch batch;
  int64_t row = 0;
  for (const RangeSpec& range : ranges) {
    Segment& segment = batch.segments.emplace_back();
    segment.sample = segment.draw = range.of.sample;
    segment.begin = range.begin;
    segment.end = range.end;
    segment.sample_tokens = range.of.tokens();
    segment.grid = range.of.grid;
    segment.row = row;
    segment.caption = range.of.caption;
    row += segment.num_tokens();
  }
  batch.tokens = Tensor::empty({row, config.in_features()}, DType::kU8);
  for (const Segment& segment : batch.segments)
    for (int64_t i = 0; i < segment.num_tokens(); ++i)
      for (int64_t c = 0; c < config.in_features(); ++c) {
        const RandomKey key{99, Purpose::kOrder, segment.sample, segment.begin + i};
        batch.tokens.row<uint8_t>(segment.row + i)[c] = uint8_t(key.words(c)[0]);
      }
  return batch;
}

MicroBatch pack_whole(const std::vector<SampleSpec>& samples, const ModelConfig& config) {
  std::vector<RangeSpec> ranges;
  for (const SampleSpec& sample : samples) ranges.push_back({sample, 0, sample.tokens()});
  return pack(ranges, config);
}

WholeModel::WholeModel(Backend backend, ModelConfig the_config, FlowConfig the_flow,
                       OptimizerConfig the_optimizer, Precision the_precision, ParallelHooks hooks)
    : config(the_config),
      precision(precision_for(backend, the_precision)),
      workspace(64 << 20, device_of(backend), "workspace"),
      arena(64 << 20, device_of(backend), "activations"),
      ops(ops_for(backend, pool, workspace)),
      parameters(config, precision, *ops),
      dit(config, precision, *ops, parameters, hooks, arena),
      flow(the_flow, config, precision, *ops, dit, arena, 5),
      optimizer(the_optimizer, parameters, *ops) {
  parameters.initialise(3);
  // Away from special points: some parameters start as zeros, which would hide wrong gradients.
  const Tensor values = to_host(parameters.values());
  for (int64_t i = 0; i < parameters.count(); ++i) {
    const float nudge = 0.1f * normal({9, Purpose::kInitialisation, 1, i});
    if (values.dtype() == DType::kF64) values.data<double>()[i] += nudge;
    else values.data<float>()[i] += nudge;
  }
  from_host(parameters.values(), values);
  parameters.prepare();
}

std::vector<double> WholeModel::gradients(const std::vector<MicroBatch>& waves, double* loss) {
  int64_t tokens = 0;
  for (const MicroBatch& wave : waves) tokens += wave.num_tokens();
  const int64_t count = loss_count(tokens, config);
  parameters.zero_grads();
  double sum = 0;
  for (const MicroBatch& wave : waves) sum += flow.loss_and_gradients(wave, count).sum;
  if (loss) *loss = sum / double(count);
  return to_doubles(parameters.grads());
}

void WholeModel::train_step(int64_t step, const std::vector<MicroBatch>& waves) {
  gradients(waves);
  optimizer.step(step, optimizer.grad_norm());
}

std::vector<double> to_doubles(const Tensor& tensor) {
  const Tensor flat = to_host(tensor);
  std::vector<double> values;
  for (int64_t i = 0; i < flat.size(); ++i)
    values.push_back(flat.dtype() == DType::kF64 ? flat.data<double>()[i] : double(flat.data<float>()[i]));
  return values;
}

}  // namespace zoetrope::test
