#include "tools/gemm_rate.h"

#include <algorithm>
#include <cstdio>

#include "core/clocks.h"
#include "model/ops/cpu/product_rate.h"

namespace zoetrope {
namespace {

/// Of both signs, on the host: no overflow, no denormals, no zeros that a kernel could be quicker on.
Tensor small_numbers(int64_t rows, int64_t columns) {
  const Tensor x = Tensor::empty({rows, columns}, DType::kF32);
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = float(i % 13 - 6) / 16 + 0.01f;
  return x;
}

}  // namespace

GemmShape cubic_gemm_shape(int64_t size) { return {std::to_string(size) + "^3", size, size, size}; }

std::vector<GemmShape> model_gemm_shapes(const ModelConfig& model, int64_t tokens) {
  return {{"q, k, v", tokens, 3 * model.width, model.width},
          {"output", tokens, model.width, model.width},
          {"MLP in", tokens, model.ffn, model.width},
          {"MLP out", tokens, model.width, model.ffn}};
}

double measure_gemm(const Ops& ops, const ThreadPool& pool, const GemmShape& shape, DType compute,
                    double seconds) {
  if (ops.device() == Device::kCpu)
    return library_product_rate(pool, shape.m, shape.n, shape.k, compute, seconds);
  Weight weight;
  weight.value = to_device(small_numbers(shape.n, shape.k), ops.device());
  ops.reserve_prepared(weight, compute);
  ops.prepare(weight, compute);
  const Tensor x = Tensor::empty({shape.m, shape.k}, compute, ops.device());
  const Tensor y = Tensor::empty({shape.m, shape.n}, compute, ops.device());
  ops.convert(x, to_device(small_numbers(shape.m, shape.k), ops.device()));
  constexpr int kAtOnce = 8;  // so that a launch is small beside the work
  double best = 0;
  const int64_t begin = wall_ns();
  for (int round = 0; round < 3 || double(wall_ns() - begin) < 1e9 * seconds; ++round) {
    ops.stream().synchronize();
    const int64_t start = wall_ns();
    for (int i = 0; i < kAtOnce; ++i) ops.linear(y, x, weight, Tensor());
    ops.stream().synchronize();
    best = std::max(best, kAtOnce * shape.flops() / (1e-9 * double(wall_ns() - start)));
  }
  return best;
}

std::string rate_text(double flops_per_second) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GF/s", flops_per_second / 1e9);
  return text;
}

}  // namespace zoetrope
