#include "tools/gpu/whole_step.h"

#include <algorithm>
#include <numeric>

#include "core/clocks.h"
#include "core/rng.h"
#include "model/activations.h"
#include "model/flops.h"
#include "parallel/step.h"
#include "tools/gpu/stream_timer.h"
#include "tools/median.h"
#include "tools/synthetic_batch.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

int64_t sum_of(const std::vector<int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
}

/// Bytes of a rank that holds these samples, by parts.
struct Memory {
  int64_t state = 0, rings = 0, arena = 0;
  int64_t total() const { return state + rings + arena; }
};
Memory memory_of(const ModelConfig& model, Precision precision, const std::vector<int64_t>& lengths,
                 const OpsSettings& settings) {
  constexpr int copies_of_parameters = 3;  // two moments and the moving average
  const std::vector<Parameter> list = list_parameters(model);
  const int64_t count = list.back().offset + list.back().size, tokens = sum_of(lengths);
  Memory memory;
  memory.state = parameter_bytes(model, precision, Device::kCuda) +
                 copies_of_parameters * count * int64_t(size_of(precision.wide));
  memory.rings = ContextAttention::buffer_bytes(model, precision, tokens);
  memory.arena = activation_bytes(model, precision).of(tokens, int64_t(lengths.size())) +
                 ops_workspace_bytes(Device::kCuda, 1, tokens, model.width, model.ffn, model.head_width(),
                                     precision.compute, settings);
  return memory;
}

/// Values as training starts with them in size, not in detail: weights from one list of random numbers, norms
/// at 1, biases at 0. Drawing each from its own key would take longer than all measurements.
void fill_parameters(const Parameters& parameters) {
  constexpr int64_t kValues = (int64_t(1) << 20) - 3;
  const int64_t most = std::min(kValues, parameters.count());
  const Tensor host = Tensor::empty({most}, DType::kF32), ones = Tensor::empty({most}, DType::kF32);
  for (int64_t i = 0; i < most; ++i) {
    host.data<float>()[i] = 0.08f * (uniform({3, Purpose::kInitialisation, 0, i}) - 0.5f);
    ones.data<float>()[i] = 1;
  }
  const Tensor weights = to_device(host, Device::kCuda), norms = to_device(ones, Device::kCuda);
  for (const Parameter& p : parameters.list()) {
    if (!p.decay && !p.name.ends_with(".weight")) continue;
    const Tensor& from = p.decay ? weights : norms;
    for (int64_t i = 0; i < p.size; i += most) {
      const int64_t count = std::min(most, p.size - i);
      copy(parameters.values().slice_rows(p.offset + i, p.offset + i + count), from.slice_rows(0, count));
    }
  }
  parameters.prepare();
}

/// One rank, put together as for training.
struct Trainer {
  Trainer(const StepCase& step, const std::vector<int64_t>& sample_lengths, const Memory& memory)
      : model(step.model),
        lengths(sample_lengths),
        comm(make_single_comm()),
        arena(0, Device::kCuda, "activations"),
        ops(make_ops(Device::kCuda, pool, arena, step.settings)),
        parameters(model, precision, *ops),
        optimizer(optimisation, parameters, *ops),
        attention(*ops, *comm, arena, model, precision, sum_of(lengths)),
        sync(*comm, parameters),
        dit(model, precision, *ops, parameters, ParallelHooks{&attention, &sync, &source, &width, &blocks},
            arena),
        flow({}, model, precision, *ops, dit, arena, 1),
        plan(plan_of_equal_slots(1, lengths)),
        batch(make_synthetic_batch(plan, 0, 0, lengths, model)) {
    arena.reserve(memory.arena);
    fill_parameters(parameters);
  }

  void step(int64_t number) {
    const StepResult result = run_loss_and_gradients(
        plan, number, loss_count(sum_of(lengths), model), *comm, flow, attention, sync, parameters,
        [&](int64_t) { return batch; }, *ops);
    optimizer.step(number, result.grad_norm);
  }

  ModelConfig model;
  std::vector<int64_t> lengths;
  Precision precision = Precision::from_name("bf16");
  OptimizerConfig optimisation;
  ThreadPool pool{1};
  std::unique_ptr<Comm> comm;
  Arena arena;
  std::unique_ptr<Ops> ops;
  Parameters parameters;
  Optimizer optimizer;
  ContextAttention attention;
  GradientSync sync;
  ParameterSource source;
  WidthShard width;
  BlockRange blocks;
  Dit dit;
  Flow flow;
  Plan plan;
  MicroBatch batch;
};

void time_steps(Trainer& trainer, int64_t steps, StepFigures& figures) {
  const Stream& stream = trainer.ops->stream();
  int64_t number = 0;
  for (; number < 2; ++number) trainer.step(number);  // loads kernels, asks for algorithms
  stream.synchronize();
  std::vector<double> seconds;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t start = wall_ns();  // a step waits for the device by itself: the host's clock is its time
    trainer.step(number++);
    stream.synchronize();
    seconds.push_back(std::max(1e-9 * double(wall_ns() - start), 1e-9));
  }
  figures.seconds = median(seconds);
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  figures.spread = (*most - *least) / figures.seconds;
}

}  // namespace

ModelConfig wan_1_3b() {
  ModelConfig model;
  model.width = 1536, model.num_layers = 30, model.num_heads = 12, model.ffn = 8960;
  model.text_width = 4096, model.text_rows = 512;
  model.in_channels = model.out_channels = 16;
  model.patch = {1, 2, 2};
  model.recompute = true;
  return model;
}

ModelConfig tiny_model() {
  ModelConfig model;
  model.recompute = true;
  return model;
}

double data_sheet_rate(const std::string& device) {
  // Dense bf16, NVIDIA's data sheets; the longer names first.
  struct Rate {
    const char* name;
    double flops;
  };
  constexpr Rate kRates[] = {{"GB300", 2500e12},     {"GB200", 2500e12},     {"B200", 2250e12},
                             {"GH200", 989.5e12},    {"H200 NVL", 835.5e12}, {"H200", 989.5e12},
                             {"H100 NVL", 835.5e12}, {"H100 PCIe", 756e12},  {"H100", 989.5e12},
                             {"A100", 312e12},       {"L40S", 362e12}};
  for (const Rate& rate : kRates)
    if (device.find(rate.name) != std::string::npos) return rate.flops;
  return 0;
}

StepFigures measure_step(const StepCase& step) {
  StepFigures figures;
  figures.name = step.name;
  figures.goal = step.goal;
  try {
    const DeviceInfo before = device_info(Device::kCuda);
    figures.peak = data_sheet_rate(before.name);
    const Precision precision = Precision::from_name("bf16");
    std::vector<int64_t> lengths = step.lengths;
    Memory memory = memory_of(step.model, precision, lengths, step.settings);
    const int64_t margin = int64_t(1) << 30;  // of the libraries
    while (memory.total() + margin > before.free_bytes && lengths.front() > 1) {
      for (int64_t& length : lengths) length = (length + 1) / 2;
      memory = memory_of(step.model, precision, lengths, step.settings);
    }
    if (lengths != step.lengths)
      figures.how =
          format_text("samples of %lld tokens instead of %lld: %.1f GiB are free", (long long)lengths.front(),
                      (long long)step.lengths.front(), double(before.free_bytes) / double(1 << 30));
    Trainer trainer(step, lengths, memory);
    figures.parameters = trainer.parameters.count();
    figures.tokens = sum_of(lengths);
    figures.samples = int64_t(lengths.size());
    figures.flops = train_flops(step.model, lengths);
    figures.predicted_bytes = memory.total();
    time_steps(trainer, step.steps, figures);
    figures.used_bytes = trainer.parameters.persistent_bytes() + trainer.optimizer.persistent_bytes() +
                         memory.rings + trainer.arena.high_water_bytes();
    figures.driver_bytes = before.free_bytes - device_info(Device::kCuda).free_bytes;
    if (lengths != step.lengths) figures.goal = 0;
  } catch (const Error& error) { figures.left_out = error.what(); }
  return figures;
}

}  // namespace zoetrope
