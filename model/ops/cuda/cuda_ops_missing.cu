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

}  // namespace zoetrope
