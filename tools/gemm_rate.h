// The best rate that matrix products reach here, by the same operators that the model uses: what `profile`
// writes as gemm-flops and `bench step` divides by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/ops/ops.h"

namespace zoetrope {

/// y [m, n] = x [m, k] w [n, k]^T.
struct GemmShape {
  std::string name;
  int64_t m = 0, n = 0, k = 0;
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

/// The products of a block on `tokens` rows.
std::vector<GemmShape> model_gemm_shapes(const ModelConfig& model, int64_t tokens);
/// A product of three equal sizes.
GemmShape cubic_gemm_shape(int64_t size);

/// Best FLOP/s of repeated calls within about `seconds`, at least two of them.
double measure_gemm(const Ops& ops, const GemmShape& shape, DType compute, double seconds);

/// Work space that the operators need for these shapes.
int64_t gemm_workspace_bytes(const std::vector<GemmShape>& shapes, int num_threads, DType compute);

/// "430.1 GF/s".
std::string rate_text(double flops_per_second);

}  // namespace zoetrope
