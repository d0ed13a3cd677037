#include "tools/gemm_rate.h"

#include <cstdio>

#include "model/ops/cpu/product_rate.h"

namespace zoetrope {
GemmShape cubic_gemm_shape(int64_t size) { return {std::to_string(size) + "^3", size, size, size}; }

std::vector<GemmShape> model_gemm_shapes(const ModelConfig& model, int64_t tokens) {
  return {{"q, k, v", tokens, 3 * model.width, model.width},
          {"output", tokens, model.width, model.width},
          {"MLP in", tokens, model.ffn, model.width},
          {"MLP out", tokens, model.width, model.ffn}};
}

double measure_gemm(const ThreadPool& pool, const GemmShape& shape, DType compute, double seconds) {
  return library_product_rate(pool, shape.m, shape.n, shape.k, compute, seconds);
}

std::string rate_text(double flops_per_second) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GF/s", flops_per_second / 1e9);
  return text;
}

}  // namespace zoetrope
