// ODE sampler: Euler steps of the flow with classifier-free guidance on this rank's shard of one sample.
#pragma once

#include <string>

#include "core/batch.h"
#include "model/flow.h"

namespace zoetrope {

struct SampleRequest {
  std::string prompt, negative_prompt;
  int64_t steps = 30;
  double guidance = 3.0, shift = 1.0;
  uint64_t seed = 0;
};

/// Samples the tokens of `batch` (one sample, this rank's range) from noise keyed by (seed, kSampling).
/// Returns x0 [T, in_features] wide, order (c, pt, ph, pw), in new storage.
Tensor sample_tokens(Flow& flow, const SampleRequest& request, const MicroBatch& batch,
                     const ModelConfig& model, int64_t draw = 0);

}  // namespace zoetrope
