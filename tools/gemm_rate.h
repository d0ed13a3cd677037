// The best rate that matrix products reach here, whoever calls them: what `profile` writes as gemm-flops and
// `bench step` divides by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "model/config.h"
#include "model/ops/ops.h"

namespace zoetrope {

/// y [m, n] = x [m, k] w [n, k]^T.
struct GemmShape {
  std::string name;
  int64_t m = 0, n = 0, k = 0;
  /// 2 per multiply-add.
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

/// The products of a block on `tokens` rows.
std::vector<GemmShape> model_gemm_shapes(const ModelConfig& model, int64_t tokens);
/// A product of three equal sizes.
GemmShape cubic_gemm_shape(int64_t size);

/// Best FLOP/s of repeated calls within about `seconds`: by oneDNN itself on the CPU, else by the operators.
double measure_gemm(const Ops& ops, const ThreadPool& pool, const GemmShape& shape, DType compute,
                    double seconds);

/// "430.1 GF/s".
std::string rate_text(double flops_per_second);

}  // namespace zoetrope
