// What each operator asks of its operands, for all backends: types and shapes as model/ops/ops.h gives them,
// and the memory that they lie in. Products and attention check their own. Throws: Error naming the operator
// and the operand, all of these.
#pragma once

#include <span>

#include "model/ops/flow_ops.h"
#include "model/ops/types.h"

namespace zoetrope::checks {

/// Of `layer_norm_modulate`.
void check_layer_norm_modulate(Device device, const Tensor& y, const Tensor& stats, const Tensor& x,
                               const Tensor& shift, const Tensor& scale, const Tensor& segment);
/// Of `layer_norm_modulate_backward`.
void check_layer_norm_modulate_backward(Device device, const Tensor& dx, const Tensor& dshift,
                                        const Tensor& dscale, const Tensor& dy, const Tensor& x,
                                        const Tensor& stats, const Tensor& scale, const Tensor& segment);
/// Of `layer_norm`.
void check_layer_norm(Device device, const Tensor& y, const Tensor& stats, const Tensor& x,
                      const Tensor& weight, const Tensor& bias);
/// Of `layer_norm_backward`.
void check_layer_norm_backward(Device device, const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                               const Tensor& dy, const Tensor& x, const Tensor& stats, const Tensor& weight);
/// Of `rms_norm_rope`.
void check_rms_norm_rope(Device device, const Tensor& y, const Tensor& rstd, const Tensor& x,
                         const Tensor& weight, const Tensor& rotation, int64_t num_heads);
/// Of `rms_norm_rope_backward`.
void check_rms_norm_rope_backward(Device device, const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                  const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                  const Tensor& rotation, int64_t num_heads);

/// Of `gate_residual`.
void check_gate_residual(Device device, const Tensor& y, const Tensor& x, const Tensor& branch,
                         const Tensor& gate, const Tensor& segment);
/// Of `gate_residual_backward` with a gate.
void check_gate_residual_backward(Device device, const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                  const Tensor& branch, const Tensor& gate, const Tensor& segment);
/// Of `add_row`.
void check_add_row(Device device, const Tensor& y, const Tensor& x, const Tensor& row);
/// Of `add_row_backward`.
void check_add_row_backward(Device device, const Tensor& drow, const Tensor& dy);

/// Of `flow_inputs`.
void check_flow_inputs(Device device, const Tensor& features, const Tensor& target, const Tensor& tokens,
                       std::span<const FlowRows> rows, int64_t channels);
/// Of `flow_velocity`.
void check_flow_velocity(Device device, const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                         int64_t channels);
/// Of `guided_step`.
void check_guided_step(Device device, const Tensor& x, const Tensor& conditional,
                       const Tensor& unconditional);

/// Of `squared_error`.
void check_squared_error(Device device, const Tensor& dy, const Tensor& row_loss, const Tensor& y,
                         const Tensor& target, const Tensor& weight);
/// Of `sum_squares`.
void check_sum_squares(Device device, const Tensor& x);
/// Of `adamw`.
void check_adamw(Device device, const Tensor& value, const Tensor& first, const Tensor& second,
                 const Tensor& ema, const Tensor& grad, const AdamwStep& step);

}  // namespace zoetrope::checks
