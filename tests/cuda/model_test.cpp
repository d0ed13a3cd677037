// The whole network on the CUDA backend: its loss and gradients are those of the CPU backend, the golden
// numbers hold, and it trains.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/cuda/devices.h"
#include "tests/support/close.h"
#include "tests/support/golden.h"
#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

using Backend = WholeModel::Backend;

/// A fresh device whose streams and threads run in this order.
void start_device(uint64_t order) { start_devices({.order = order}); }

std::vector<MicroBatch> waves_for(const ModelConfig& config) {
  const SampleSpec a{0, {2, 2, 3}, "a red ball"}, b{1, {1, 3, 2}, "two"}, c{2, {3, 1, 1}, ""};
  return {pack_whole({a, b}, config), pack_whole({c}, config)};
}

/// Largest element of a tensor's gradient, or of the difference of two.
double largest(const std::vector<double>& x, const std::vector<double>& y, const Parameter& p) {
  double worst = 0;
  for (int64_t i = p.offset; i < p.offset + p.size; ++i)
    worst = std::max(worst, std::abs(x[size_t(i)] - (y.empty() ? 0 : y[size_t(i)])));
  return worst;
}

/// The name without the block's number: tensors that are summed alike.
std::string kind_of(const Parameter& p) {
  const std::string blocks = "blocks.";
  return p.name.starts_with(blocks) ? p.name.substr(p.name.find('.', blocks.size())) : p.name;
}

/// No tensor's gradient is further from the double reference than four times the CPU backend's, which differs
/// from it in the order of sums alone, or than 16 roundings of its largest element where that is more. The
/// CPU's error is the largest among the same tensors of all blocks: that of one small tensor is luck, and
/// another on each kind of processor.
void expect_gradients(const WholeModel& model, double unit, const std::vector<double>& found,
                      const std::vector<double>& cpu, const std::vector<double>& exact) {
  std::map<std::string, double> expected;
  for (const Parameter& p : model.parameters.list()) {
    double& error = expected[kind_of(p)];
    error = std::max({error, largest(cpu, exact, p), 16 * unit * largest(exact, {}, p)});
  }
  for (const Parameter& p : model.parameters.list())
    EXPECT_LE(largest(found, exact, p), 4 * expected[kind_of(p)]) << p.name;
}

TEST(CudaModel, LossAndGradientsAreThoseOfTheCpu) {
  const ModelConfig config = awkward_config();
  for (const std::string precision : {"f32", "bf16"}) {
    SCOPED_TRACE(precision);
    WholeModel cpu(Backend::kCpu, config, {}, {}, Precision::from_name(precision));
    WholeModel reference(Backend::kReference, config);
    double cpu_loss = 0, exact_loss = 0;
    const std::vector<double> cpu_gradients = cpu.gradients(waves_for(config), &cpu_loss);
    const std::vector<double> exact = reference.gradients(waves_for(config), &exact_loss);
    const double unit = precision == "f32" ? kUnitF32 : kUnitBF16;
    std::vector<double> first;
    for (const uint64_t seed : {0, 1, 2}) {
      SCOPED_TRACE(join_message("seed ", seed));
      start_device(seed);
      WholeModel cuda(Backend::kCuda, config, {}, {}, Precision::from_name(precision));
      double loss = 0;
      const std::vector<double> found = cuda.gradients(waves_for(config), &loss);
      EXPECT_NEAR(loss, exact_loss, 4 * std::max(std::abs(cpu_loss - exact_loss), 16 * unit * exact_loss));
      expect_gradients(cuda, unit, found, cpu_gradients, exact);
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << "gradients depend on the order of threads";
    }
  }
}

// Losses of later steps depend on all of the optimizer.
TEST(CudaModel, TrainsAsTheCpuDoes) {
  const ModelConfig config = awkward_config();
  OptimizerConfig optimizer;
  optimizer.learning_rate = 1e-3;
  optimizer.ema_decay = 0.9;
  start_device(3);
  WholeModel cpu(Backend::kCpu, config, {}, optimizer), cuda(Backend::kCuda, config, {}, optimizer);
  for (int64_t step = 0; step < 4; ++step) {
    double cpu_loss = 0, cuda_loss = 0;
    cpu.gradients(waves_for(config), &cpu_loss);
    cuda.gradients(waves_for(config), &cuda_loss);
    EXPECT_NEAR(cuda_loss, cpu_loss, 1e-5 * cpu_loss) << "step " << step;  // as golden loss curves
    for (WholeModel* model : {&cpu, &cuda}) model->optimizer.step(step, model->optimizer.grad_norm());
  }
}

TEST(CudaModel, GoldenNumbersInSinglePrecision) {
  start_device(4);
  const ThreadPool pool(1);
  Arena workspace(64 << 20, Device::kCuda, "work space");
  const auto ops = make_ops(Device::kCuda, pool, workspace);
  // On the emulated device outputs of up to 2.7 are 9.6e-7 off. A GPU's sums have other orders: four times
  // that, as between any two runs that differ in order alone.
  const double output_bound = devices_are_emulated() ? 1e-6 : 4e-6;
  expect_golden(Golden(*ops, {DType::kF32, DType::kF32}), output_bound, 2.5e-5, 0);
}

TEST(CudaModel, RecomputeChangesNoBit) {
  start_device(5);
  ModelConfig config = awkward_config();
  WholeModel kept(Backend::kCuda, config);
  config.recompute = true;
  WholeModel again(Backend::kCuda, config);
  EXPECT_EQ(kept.gradients(waves_for(config)), again.gradients(waves_for(config)));
}

TEST(CudaModel, SamplingRuns) {
  start_device(6);
  const ModelConfig config = awkward_config();
  WholeModel cpu(Backend::kCpu, config), cuda(Backend::kCuda, config);
  const MicroBatch batch = waves_for(config)[1];
  Tensor cpu_velocity, cuda_velocity;
  for (WholeModel* model : {&cpu, &cuda}) {
    const Tensor x =
        Tensor::zeros({batch.num_tokens(), config.in_features()}, DType::kF32, model->ops->device());
    Tensor& velocity = model == &cpu ? cpu_velocity : cuda_velocity;
    velocity = Tensor::like(x, x.device());
    model->flow.velocity(velocity, x, 0.7, batch, {"a red ball"});
  }
  const std::vector<double> expected = to_doubles(cpu_velocity.reshape({cpu_velocity.size()})),
                            found = to_doubles(cuda_velocity.reshape({cuda_velocity.size()}));
  double most = 0;
  for (const double v : expected) most = std::max(most, std::abs(v));
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5 * most);
}

}  // namespace
}  // namespace zoetrope::test
