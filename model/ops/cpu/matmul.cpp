// Linear layers: checks, bias gradients, and the way that products run (Note [Ways of products]).
#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/panels.h"
#include "model/ops/cpu/products.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/tiles.h"
#include "model/ops/workspace.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Note [Ways of products]: f32 products run in oneDNN on the parameters themselves. bf16 products run on
// weights that are prepared once per step:
// - kPanels (AMX): `forward` and `backward` are packed panels of W^T [K, N] and W [N, K] (matmul_panels.cpp);
// - kLibrary: `forward` is W [N, K] in bf16, which oneDNN reads by strides in both directions
// (matmul_library.cpp);
// - kWidened (no bf16 products): `forward` is W rounded to bf16, in f32, and so are the other operands on
// their way.

Tensor plain_weight(const Weight& weight, DType compute) {
  return compute == DType::kF32 ? weight.value : weight.forward;
}

int64_t prepared_bytes_in(Bf16Products way, int64_t n, int64_t k, DType compute) {
  if (compute == DType::kF32) return 0;
  if (way == Bf16Products::kPanels) return 2 * Panels{n, k}.elements() * int64_t(sizeof(bf16));
  return n * k * int64_t(way == Bf16Products::kLibrary ? sizeof(bf16) : sizeof(float));
}

}  // namespace

Bf16Products best_bf16_products() {
  if (has_tiles()) return Bf16Products::kPanels;
  return has_native_bf16() ? Bf16Products::kLibrary : Bf16Products::kWidened;
}

int64_t cpu_prepared_bytes(int64_t n, int64_t k, DType compute) {
  return prepared_bytes_in(best_bf16_products(), n, k, compute);
}
int64_t CpuOps::prepared_bytes(int64_t n, int64_t k, DType compute) const {
  return prepared_bytes_in(bf16_products_, n, k, compute);
}

void CpuOps::reserve_prepared(Weight& weight, DType compute) const {
  const int64_t N = weight.value.rows(), K = weight.value.row_size();
  check_wide("reserve_prepared", "weight", weight.value, N, K);
  if (compute == DType::kF32) return;
  if (bf16_products_ == Bf16Products::kPanels) {
    weight.forward = Tensor::empty({Panels{N, K}.elements()}, compute);
    weight.backward = Tensor::empty({Panels{K, N}.elements()}, compute);
  } else {
    weight.forward = Tensor::empty({N, K}, bf16_products_ == Bf16Products::kLibrary ? compute : DType::kF32);
  }
}

void CpuOps::check_weight(const char* op, const Weight& weight, DType compute) const {
  const Tensor& w = weight.value;
  check_wide(op, "weight", w, w.rows(), w.row_size());
  if (compute == DType::kF32) return;
  const bool panels = bf16_products_ == Bf16Products::kPanels;
  const DType type = bf16_products_ == Bf16Products::kWidened ? DType::kF32 : compute;
  const int64_t size = panels ? Panels{w.rows(), w.row_size()}.elements() : w.size();
  for (const Tensor& form : {weight.forward, panels ? weight.backward : weight.forward})
    ZT_CHECK(form.defined() && form.dtype() == type && form.size() == size, op, ": the weight ",
             w.shape_text(), " is not prepared for ", name_of(compute));
}

void CpuOps::prepare(const Weight& weight, DType compute) const {
  check_weight("prepare", weight, compute);
  if (compute == DType::kF32) return;
  switch (bf16_products_) {
    case Bf16Products::kPanels: return prepare_panels(weight);
    case Bf16Products::kLibrary: return convert(weight.forward, weight.value);
    case Bf16Products::kWidened: break;
  }
  for_rows(pool_, weight.value.rows(), [&](int64_t n) {
    const float* from = weight.value.row<float>(n);
    float* to = weight.forward.row<float>(n);
    for (int64_t k = 0; k < weight.value.row_size(); ++k) to[k] = float(bf16(from[k]));
  });
}

void CpuOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  const char* op = "linear";
  const int64_t T = x.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "x", x, T, K);
  check_matrix(op, "y", y, T, N);
  check_weight(op, weight, x.dtype());
  if (bias.defined()) check_vector(op, "bias", bias, N);
  run(y, x, weight.forward, plain_weight(weight, x.dtype()), true, bias);
}

void CpuOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  const char* op = "linear_backward_input";
  const int64_t T = dy.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "dx", dx, T, K);
  check_weight(op, weight, dy.dtype());
  run(dx, dy, weight.backward, plain_weight(weight, dy.dtype()), false, Tensor());
}

void CpuOps::run(const Tensor& y, const Tensor& x, const Tensor& panels, const Tensor& plain, bool transposed,
                 const Tensor& bias) const {
  if (x.dtype() == DType::kBF16 && bf16_products_ == Bf16Products::kPanels)
    return run_panels(y, x, panels, bias);
  if (x.dtype() == DType::kBF16 && bf16_products_ == Bf16Products::kWidened)
    return run_widened(y, x, plain, transposed, bias);
  run_library(y, x, plain, transposed, bias);
}

void CpuOps::linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                    const Tensor& x) const {
  const char* op = "linear_backward_weight";
  const int64_t T = dy.rows(), N = dy.row_size(), K = x.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "x", x, T, K);
  check_same_type(op, "x", x, dy);
  check_wide(op, "dweight", dweight, N, K);
  if (dbias.defined()) check_vector(op, "dbias", dbias, N);
  if (T == 0) return;
  if (x.dtype() == DType::kBF16 && bf16_products_ == Bf16Products::kPanels)
    return sum_panels(dweight, dbias, dy, x);
  if (x.dtype() == DType::kBF16 && bf16_products_ == Bf16Products::kWidened) sum_widened(dweight, dy, x);
  else sum_library(dweight, dy, x);
  if (!dbias.defined()) return;
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    sum_by_segment<1>(pool_, workspace_, T, N, nullptr, {dbias.reshape({1, N})},
                      [&](int64_t t, int64_t, const std::array<float*, 1>& sums) {
                        simd::for_lanes(N, [&](int64_t i, int64_t n) {
                          simd::store(sums[0] + i,
                                      simd::load(sums[0] + i, n) + simd::load(dy.row<Dy>(t) + i, n), n);
                        });
                      });
  });
}

}  // namespace zoetrope
