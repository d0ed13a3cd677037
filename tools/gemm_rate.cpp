#include "tools/gemm_rate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace zoetrope {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Small numbers of both signs: no overflow, no denormals, no zeros that a kernel could be quicker on.
void fill(const Ops& ops, const Tensor& tensor) {
  Tensor wide =
      tensor.dtype() == DType::kF32 ? tensor : Tensor::empty({tensor.rows(), tensor.row_size()}, DType::kF32);
  for (int64_t i = 0; i < wide.size(); ++i) wide.data<float>()[i] = float(i % 13 - 6) / 16 + 0.01f;
  if (tensor.dtype() != DType::kF32) ops.convert(tensor, wide);
}

}  // namespace

GemmShape cubic_gemm_shape(int64_t size) { return {std::to_string(size) + "^3", size, size, size}; }

std::vector<GemmShape> model_gemm_shapes(const ModelConfig& model, int64_t tokens) {
  return {{"q, k, v", tokens, 3 * model.width, model.width},
          {"output", tokens, model.width, model.width},
          {"MLP in", tokens, model.ffn, model.width},
          {"MLP out", tokens, model.width, model.ffn}};
}

double measure_gemm(const Ops& ops, const GemmShape& shape, DType compute, double seconds) {
  Weight weight;
  weight.value = Tensor::empty({shape.n, shape.k}, DType::kF32);
  fill(ops, weight.value);
  ops.reserve_prepared(weight, compute);
  ops.prepare(weight, compute);
  const Tensor x = Tensor::empty({shape.m, shape.k}, compute), y = Tensor::empty({shape.m, shape.n}, compute);
  fill(ops, x);
  double best = 0, spent = 0;
  for (int64_t calls = 0; calls < 2 || spent < seconds; ++calls) {
    const Clock::time_point start = Clock::now();
    ops.linear(y, x, weight, Tensor());
    const double took = seconds_since(start);
    spent += took;
    best = std::max(best, shape.flops() / took);
  }
  return best;
}

int64_t gemm_workspace_bytes(const std::vector<GemmShape>& shapes, int num_threads, DType compute) {
  int64_t bytes = 0;
  for (const GemmShape& s : shapes)
    bytes = std::max(bytes, ops_workspace_bytes(Device::kCpu, num_threads, s.m, std::max(s.n, s.k),
                                                std::max(s.n, s.k), 64, compute));
  return bytes;
}

std::string rate_text(double flops_per_second) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GF/s", flops_per_second / 1e9);
  return text;
}

}  // namespace zoetrope
