// What an operator does on a backend that lacks it: an error that names both.
#include "model/ops/ops.h"

namespace zoetrope {

void FlowOps::flow_inputs(const Tensor&, const Tensor&, const Tensor&, std::span<const FlowRows>, int64_t,
                          bool) const {
  throw Error("flow_inputs: not implemented on this backend");
}
void FlowOps::flow_velocity(const Tensor&, const Tensor&, const Tensor&, int64_t, double) const {
  throw Error("flow_velocity: not implemented on this backend");
}
void FlowOps::guided_step(const Tensor&, const Tensor&, const Tensor&, double, double) const {
  throw Error("guided_step: not implemented on this backend");
}
void Ops::add_row(const Tensor&, const Tensor&, const Tensor&) const {
  throw Error("add_row: not implemented on this backend");
}
void Ops::add_row_backward(const Tensor&, const Tensor&) const {
  throw Error("add_row_backward: not implemented on this backend");
}

}  // namespace zoetrope
