// Which attention kernels are faster on a GPU for a model: what `profile` writes beside the cost set.
#pragma once

#include <functional>
#include <string>

#include "parallel/comm.h"
#include "tools/train_config.h"

namespace zoetrope {

/// Seconds of a forward and a backward pass over one sample of 8192 tokens, the best of some.
/// Throws: Error when the kernels are not there.
double measure_attention(Device device, const ModelConfig& model, DType compute, const OpsSettings& settings);

/// "own" or "cudnn", the one that is faster on the slowest rank; "own" where cuDNN can't be used. The same on
/// all ranks. `say` hears the times and the reason. Call on all ranks.
std::string faster_attention(const TrainConfig& config, Comm& comm,
                             const std::function<void(const std::string&)>& say);

}  // namespace zoetrope
