// A whole small model on one rank, on the double reference or on a backend, and micro-batches for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/flow.h"
#include "model/optimizer.h"
#include "model/params.h"
#include "tests/support/reference_ops.h"

namespace zoetrope::test {

/// Sizes that divide by nothing: width 12 in 2 heads of 6, 3 channels of 1 x 2 x 2 patches.
ModelConfig awkward_config();

/// A sample of a step: its token grid and draw number.
struct SampleSpec {
  int64_t sample = 0;
  std::array<int64_t, 3> grid{};
  std::string caption;
  int64_t tokens() const { return grid[0] * grid[1] * grid[2]; }
};
/// A token range of a sample.
struct RangeSpec {
  SampleSpec of;
  int64_t begin = 0, end = 0;
};
/// Packs ranges in order; pixel `c` of token `t` of a sample depends on (sample, t, c) alone.
MicroBatch pack(const std::vector<RangeSpec>& ranges, const ModelConfig& config);
/// Packs whole samples.
MicroBatch pack_whole(const std::vector<SampleSpec>& samples, const ModelConfig& config);

/// Parameters, network, flow and optimizer, put together; no parameter stays at a special value.
struct WholeModel {
  enum class Backend { kReference, kCpu, kCuda };
  WholeModel(Backend backend, ModelConfig config, FlowConfig flow = {}, OptimizerConfig optimizer = {},
             Precision precision = {}, ParallelHooks hooks = {});

  /// Gradient of the step's loss over these micro-batches, flat, as doubles.
  std::vector<double> gradients(const std::vector<MicroBatch>& waves, double* loss = nullptr);
  /// One training step.
  void train_step(int64_t step, const std::vector<MicroBatch>& waves);

  ModelConfig config;
  Precision precision;
  ThreadPool pool{2};
  Arena workspace, arena;
  std::unique_ptr<Ops> ops;
  Parameters parameters;
  Dit dit;
  Flow flow;
  Optimizer optimizer;
};

/// Elements of a flat f32 or f64 tensor, wherever it is.
std::vector<double> to_doubles(const Tensor& flat);

}  // namespace zoetrope::test
