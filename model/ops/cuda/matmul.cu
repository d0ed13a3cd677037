// Linear layers: checks, the bf16 copy of weights, bias gradients; products.cu multiplies. The weight as it
// is stored, [N, K], serves all three products, so its only prepared form is a copy in the type of the
// products.
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/column_sums.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/products.h"
#include "model/ops/cuda/sizes.h"

namespace zoetrope {
namespace {

using namespace cuda;

/// Products write their own type or the wide one.
void check_output(const char* op, const char* name, const Tensor& y, const Tensor& x) {
  ZT_CHECK(y.dtype() == DType::kF32 || y.dtype() == x.dtype(), op, ": ", name, " is ", y.shape_text(),
           ", expected f32 or ", name_of(x.dtype()));
}

}  // namespace

int64_t CudaOps::prepared_bytes(int64_t n, int64_t k, DType compute) const {
  return cuda_prepared_bytes(n, k, compute);
}

void CudaOps::reserve_prepared(Weight& weight, DType compute) const {
  const int64_t N = weight.value.rows(), K = weight.value.row_size();
  check_wide("reserve_prepared", "weight", weight.value, N, K);
  if (compute != DType::kF32) weight.forward = Tensor::empty({N, K}, compute, Device::kCuda);
}

Tensor CudaOps::product_weight(const char* op, const Weight& weight, DType compute) const {
  const int64_t N = weight.value.rows(), K = weight.value.row_size();
  check_wide(op, "weight", weight.value, N, K);
  if (compute == DType::kF32) return weight.value;
  ZT_CHECK(weight.forward.defined() && weight.forward.dtype() == compute && weight.forward.rows() == N &&
               weight.forward.row_size() == K,
           op, ": the weight ", weight.value.shape_text(), " is not prepared for ", name_of(compute));
  return weight.forward;
}

void CudaOps::prepare(const Weight& weight, DType compute) const {
  const Tensor operand = product_weight("prepare", weight, compute);
  if (compute != DType::kF32) convert(operand, weight.value);
}

void CudaOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  const char* op = "linear";
  const int64_t T = x.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "x", x, T, K);
  check_matrix(op, "y", y, T, N);
  check_output(op, "y", y, x);
  const Tensor w = product_weight(op, weight, x.dtype());
  if (bias.defined()) check_vector(op, "bias", bias, N);
  if (T == 0) return;
  const ArenaScope scope(workspace_);
  Tensor added = bias;
  if (bias.defined() && y.dtype() != DType::kF32) {  // the library adds a bias of the output's type alone
    added = workspace_.take({1, N}, y.dtype());
    convert(added, bias.reshape({1, N}));
  }
  products_->run(y, {x}, {w, true}, added, false, workspace_, stream_);
}

void CudaOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  const char* op = "linear_backward_input";
  const int64_t T = dy.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "dx", dx, T, K);
  check_output(op, "dx", dx, dy);
  products_->run(dx, {dy}, {product_weight(op, weight, dy.dtype())}, {}, false, workspace_, stream_);
}

void CudaOps::linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                     const Tensor& x) const {
  const char* op = "linear_backward_weight";
  const int64_t T = dy.rows(), N = dy.row_size(), K = x.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "x", x, T, K);
  check_same_type(op, "x", x, dy);
  check_wide(op, "dweight", dweight, N, K);
  if (dbias.defined()) check_vector(op, "dbias", dbias, N);
  if (T == 0) return;
  products_->run(dweight, {dy, true}, {x}, {}, true, workspace_, stream_);
  if (dbias.defined()) add_column_sums(workspace_, dbias, dy, stream_);
}

}  // namespace zoetrope
