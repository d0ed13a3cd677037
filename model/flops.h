// How much arithmetic a step holds: 2 FLOPs per multiply-add of every product and of attention. Stands beside
// the network; training and benchmarks divide it by time.
#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace zoetrope {

/// Forward FLOPs of samples with these numbers of tokens: matrix products and attention, each sample's text
/// and time embedding once; norms, activations and rotations are left out. Source: the network of
/// model/dit.h, counted in flops.cpp.
double forward_flops(const ModelConfig& config, std::span<const int64_t> sample_tokens);
/// Of one sample.
double forward_flops(const ModelConfig& config, int64_t tokens);

/// Of a training step: forward plus twice that for backward (the input's and the weight's gradient of every
/// product). What recompute does again is not counted.
double train_flops(const ModelConfig& config, std::span<const int64_t> sample_tokens);

}  // namespace zoetrope
