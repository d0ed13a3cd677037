// The operators that flow matching and the sampler need besides those of the network; part of `Ops`.
// Each is one threaded pass over [T, P] (P features per token = channels x patch volume).
//
// Orders legend: *patch in* is (c, pt, ph, pw), as tokens and features are stored; *patch out* is
// (pt, ph, pw, c), as the head writes its rows.
#pragma once

#include <cstdint>
#include <span>

#include "core/rng.h"
#include "core/tensor.h"

namespace zoetrope {

/// Rows of one segment: their noise level, and the random key of the first row (`token` counts up from it).
struct FlowRows {
  int64_t row_begin = 0, row_end = 0;
  double sigma = 0;
  RandomKey key;
};

class FlowOps {
 public:
  virtual ~FlowOps() = default;

  /// features = (1 - sigma) x0 + sigma eps; target = x0, or eps - x0 when `velocity_target`. Tokens of u8
  /// hold x0 = value / 127.5 - 1; undefined tokens stand for x0 = 0. eps of element c is `normal(key, c)`.
  /// Shapes: features [T, P] compute or wide, patch in; target [T, P] wide, patch out, or undefined; tokens
  /// [T, P] u8 or f32, patch in. `rows` cover [0, T) in order.
  virtual void flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                           std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const;
  /// velocity = prediction, or (x - prediction) / divisor when divisor > 0 (the prediction is x0).
  /// Shapes: velocity, x [T, P] wide, patch in; prediction [T, P] wide, patch out.
  virtual void flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                             int64_t channels, double divisor) const;
  /// x += step (unconditional + guidance (conditional - unconditional)). Shapes: all [T, P] wide.
  virtual void guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional,
                           double guidance, double step) const;
};

}  // namespace zoetrope
