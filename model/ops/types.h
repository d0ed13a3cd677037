// What the operators of model/ops/ops.h are given besides tensors: weights, attention blocks, step numbers.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace zoetrope {

/// A matrix of a product, `value` [N, K] (out, in) in the wide type, plus the backend's prepared forms
/// (converted and blocked for the forward and the input-gradient product).
struct Weight {
  Tensor value;
  Tensor forward, backward;  ///< undefined until `reserve_prepared`; backend-private layout
};

enum class Activation { kNone, kGelu, kSilu };

/// One block of attention: rows [q_begin, q_end) of q against rows [kv_begin, kv_end) of k and v.
struct AttentionItem {
  int64_t q_begin = 0, q_end = 0, kv_begin = 0, kv_end = 0;
};

/// Whose kernels compute attention: the backend's own, of which the best for device and shape runs, or
/// cuDNN's where it has a plan for the shape.
enum class AttentionSource { kOwn, kCudnn };
/// "own", "cudnn".
const char* name_of(AttentionSource source);
/// Throws: Error naming all of them.
AttentionSource attention_source_from(const std::string& name);

/// What a run chooses for its operators; the same on all ranks.
struct OpsSettings {
  AttentionSource attention = AttentionSource::kOwn;
  bool allow_nondeterministic = false;  ///< kernels whose bits differ from run to run may be taken
};

/// AdamW's numbers for one step (step counts from 1); `grad_scale` is clipping and 1 / loss count.
struct AdamwStep {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double grad_scale = 1;
  int64_t step = 1;
  double ema_decay = 0;  ///< used when an ema tensor is given: ema = d ema + (1 - d) value
};

/// Whether products in a type run natively on this processor, and how they run if not (one sentence).
struct PrecisionSupport {
  bool native = true;
  std::string how;
};

}  // namespace zoetrope
