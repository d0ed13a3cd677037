// A tiny network with its flow on one rank, on any operators: what tests of the model share.
#pragma once

#include <memory>
#include <vector>

#include "model/flow.h"
#include "model/optimizer.h"

namespace zoetrope::test {

/// Two blocks of width 12 with heads of 6, patch 1x2x2 of 3 channels.
ModelConfig small_model_config();

/// Micro-batch of segments with random u8 payload that depends on (sample, token) alone, so that any split of
/// the same samples holds the same tokens.
struct SmallSegment {
  int64_t sample = 0, begin = 0, end = 0;
  std::array<int64_t, 3> grid{};
};
MicroBatch make_batch(const std::vector<SmallSegment>& segments, const ModelConfig& config);

/// Everything that one rank needs for a step.
struct SmallModel {
  SmallModel(const Ops& ops, Arena& arena, Precision precision, const ModelConfig& config, const FlowConfig& flow,
             const OptimizerConfig& optimisation = {});
  ModelConfig config;
  Parameters parameters;
  Optimizer optimizer;
  Dit dit;
  Flow flow;
  /// All gradients as doubles.
  std::vector<double> gradients() const;
};

}  // namespace zoetrope::test
