// Ops that this backend does not have yet: an error that names each.
#include "core/check.h"
#include "model/ops/cuda/cuda_ops.h"

namespace zoetrope {

void CudaOps::reserve_prepared(Weight&, DType) const {
  throw Error("reserve_prepared: not implemented on cuda");
}
int64_t CudaOps::prepared_bytes(int64_t, int64_t, DType) const {
  throw Error("prepared_bytes: not implemented on cuda");
}
void CudaOps::prepare(const Weight&, DType) const { throw Error("prepare: not implemented on cuda"); }
void CudaOps::linear(const Tensor&, const Tensor&, const Weight&, const Tensor&) const {
  throw Error("linear: not implemented on cuda");
}
void CudaOps::linear_backward_input(const Tensor&, const Tensor&, const Weight&) const {
  throw Error("linear_backward_input: not implemented on cuda");
}
void CudaOps::linear_backward_weight(const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {
  throw Error("linear_backward_weight: not implemented on cuda");
}
void CudaOps::layer_norm_modulate(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                  const Tensor&, double) const {
  throw Error("layer_norm_modulate: not implemented on cuda");
}
void CudaOps::layer_norm_modulate_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                           const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {
  throw Error("layer_norm_modulate_backward: not implemented on cuda");
}
void CudaOps::layer_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         double) const {
  throw Error("layer_norm: not implemented on cuda");
}
void CudaOps::layer_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                  const Tensor&, const Tensor&) const {
  throw Error("layer_norm_backward: not implemented on cuda");
}
void CudaOps::rms_norm_rope(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                            int64_t, double) const {
  throw Error("rms_norm_rope: not implemented on cuda");
}
void CudaOps::rms_norm_rope_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                     const Tensor&, const Tensor&, const Tensor&, int64_t) const {
  throw Error("rms_norm_rope_backward: not implemented on cuda");
}
void CudaOps::activate(const Tensor&, const Tensor&, Activation) const {
  throw Error("activate: not implemented on cuda");
}
void CudaOps::activate_backward(const Tensor&, const Tensor&, const Tensor&, Activation) const {
  throw Error("activate_backward: not implemented on cuda");
}
void CudaOps::gate_residual(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {
  throw Error("gate_residual: not implemented on cuda");
}
void CudaOps::gate_residual_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                     const Tensor&, const Tensor&) const {
  throw Error("gate_residual_backward: not implemented on cuda");
}
void CudaOps::convert(const Tensor&, const Tensor&) const { throw Error("convert: not implemented on cuda"); }
void CudaOps::add(const Tensor&, const Tensor&) const { throw Error("add: not implemented on cuda"); }
void CudaOps::add_row(const Tensor&, const Tensor&, const Tensor&) const {
  throw Error("add_row: not implemented on cuda");
}
void CudaOps::add_row_backward(const Tensor&, const Tensor&) const {
  throw Error("add_row_backward: not implemented on cuda");
}
void CudaOps::attention(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        std::span<const AttentionItem>, int64_t, double, bool) const {
  throw Error("attention: not implemented on cuda");
}
void CudaOps::attention_delta(const Tensor&, const Tensor&, const Tensor&, int64_t) const {
  throw Error("attention_delta: not implemented on cuda");
}
void CudaOps::attention_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 std::span<const AttentionItem>, int64_t, double) const {
  throw Error("attention_backward: not implemented on cuda");
}
double CudaOps::squared_error(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                              double) const {
  throw Error("squared_error: not implemented on cuda");
}
double CudaOps::sum_squares(const Tensor&) const { throw Error("sum_squares: not implemented on cuda"); }
void CudaOps::flow_inputs(const Tensor&, const Tensor&, const Tensor&, std::span<const FlowRows>, int64_t,
                          bool) const {
  throw Error("flow_inputs: not implemented on cuda");
}
void CudaOps::flow_velocity(const Tensor&, const Tensor&, const Tensor&, int64_t, double) const {
  throw Error("flow_velocity: not implemented on cuda");
}
void CudaOps::guided_step(const Tensor&, const Tensor&, const Tensor&, double, double) const {
  throw Error("guided_step: not implemented on cuda");
}
void CudaOps::adamw(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                    const AdamwStep&) const {
  throw Error("adamw: not implemented on cuda");
}

}  // namespace zoetrope
