// The network on packed shards: forward and hand-written backward. Knows no ranks; what needs other ranks
// enters through the hooks.
#pragma once

#include <memory>

#include "core/batch.h"
#include "model/params.h"

namespace zoetrope {

/// What the network reads besides the batch's layout.
/// Shapes: features [T, in_features] compute, order (c, pt, ph, pw); timesteps [S] wide host values in
/// [0, 1000]; text [S * text_rows, text_width] compute, zero-padded rows.
struct DitInput {
  Tensor features;
  std::vector<double> timesteps;  ///< per segment
  Tensor text;
};

class Dit {
 public:
  Dit(const ModelConfig& config, Precision precision, const Ops& ops, const Parameters& parameters,
      ParallelHooks hooks, Arena& arena);
  ~Dit();

  /// Returns the prediction [T, out_features] wide, order (pt, ph, pw, c), on the arena. Everything that
  /// backward needs stays on the arena above the caller's mark when `keep` is set.
  Tensor forward(const MicroBatch& batch, const DitInput& input, bool keep);
  /// Accumulates parameter gradients; `doutput` [T, out_features] compute. Frees what forward kept.
  void backward(const MicroBatch& batch, const DitInput& input, const Tensor& doutput);

  const ModelConfig& config() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Peak arena bytes of one micro-batch (forward and backward, loss included) as a function linear in its
/// sizes; must equal the arena's high-water mark up to padding. schedule/ receives these numbers.
struct ActivationBytes {
  int64_t fixed = 0, per_token = 0, per_segment = 0;
  /// Of a micro-batch.
  int64_t of(int64_t tokens, int64_t segments) const {
    return fixed + per_token * tokens + per_segment * segments;
  }
};
/// The figures of one model and precision.
ActivationBytes activation_bytes(const ModelConfig& config, Precision precision);

}  // namespace zoetrope
