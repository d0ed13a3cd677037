// The optimizer: AdamW and the moving average in one pass over memory, a pack of parameters a thread (Note
// [Packs of a warp] in map.cuh).
//
// Napkin, bytes a parameter:
//   adamw            grad 4, value 4 + 4, first 4 + 4, second 4 + 4               28   15 FLOP
//   adamw_and_ema    grad 4, value 4 + 4, first 4 + 4, second 4 + 4, ema 4 + 4    36   18 FLOP
// A division and a root are among them. Expected: 90 % of the copy bandwidth.
#include <cmath>

#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct AdamwNumbers {
  float grad_scale, beta1, rest1, beta2, rest2, keep, rate, root_correction, epsilon, ema_rest;
};

struct AdamwTensors {
  float *value, *first, *second, *ema;  // ema may be null
  const float* grad;
};

template <int kN>
__global__ void __launch_bounds__(kThreads) adamw_kernel(AdamwTensors p, AdamwNumbers a, int64_t count) {
  const int64_t c = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kN;
  if (c >= count) return;
  const int n = int(min(int64_t(kN), count - c));
  const auto grad = load<kN>(p.grad + c, n);
  auto first = load<kN>(p.first + c, n), second = load<kN>(p.second + c, n), value = load<kN>(p.value + c, n);
  Pack<kN> average{};
  if (p.ema != nullptr) average = load<kN>(p.ema + c, n);
#pragma unroll
  for (int j = 0; j < kN; ++j) {
    const float g = grad[j] * a.grad_scale;
    first[j] = a.beta1 * first[j] + a.rest1 * g;
    second[j] = a.beta2 * second[j] + a.rest2 * (g * g);
    value[j] = value[j] * a.keep - a.rate * first[j] / (sqrtf(second[j]) * a.root_correction + a.epsilon);
  }
  store(p.first + c, first, n);
  store(p.second + c, second, n);
  store(p.value + c, value, n);
  if (p.ema == nullptr) return;
#pragma unroll
  for (int j = 0; j < kN; ++j) average[j] += a.ema_rest * (value[j] - average[j]);
  store(p.ema + c, average, n);
}

AdamwNumbers numbers_of(const AdamwStep& step) {
  const double correction1 = 1 - std::pow(step.beta1, double(step.step));
  const double correction2 = 1 - std::pow(step.beta2, double(step.step));
  return {float(step.grad_scale),
          float(step.beta1),
          float(1 - step.beta1),
          float(step.beta2),
          float(1 - step.beta2),
          float(1 - step.learning_rate * step.weight_decay),
          float(step.learning_rate / correction1),
          float(1 / std::sqrt(correction2)),
          float(step.epsilon),
          float(1 - step.ema_decay)};
}

}  // namespace
}  // namespace cuda

using namespace cuda;

void CudaOps::adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
                    const Tensor& grad, const AdamwStep& step) const {
  checks::check_adamw(Device::kCuda, value, first, second, ema, grad, step);
  const char* op = "adamw";
  const int64_t count = value.size();
  if (count == 0) return;
  const AdamwTensors tensors{value.data<float>(), first.data<float>(), second.data<float>(),
                             ema.defined() ? ema.data<float>() : nullptr, grad.data<float>()};
  with_access<4>(on_vectors(value, first, second, ema, grad), [&]<int kN>() {
    const LaunchShape shape{dim3(unsigned(ceil_div(count, kThreads * kN))), dim3(kThreads), 0, op};
    launch(adamw_kernel<kN>, shape, queue_of(stream_), tensors, numbers_of(step), count);
  });
}

}  // namespace zoetrope
