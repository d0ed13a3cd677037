// Loss, norm of the gradient, and the optimizer: AdamW and the moving average in one pass over memory.
#include <algorithm>
#include <array>
#include <bit>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::D8;
using simd::F16;
using simd::for_lanes;
using simd::load;
using simd::load_ahead;
using simd::store;

constexpr int64_t kPiece = 65536;  // elements per task of the optimizer: 256 KiB of each operand
constexpr int64_t kAhead = kAheadBytes / int64_t(sizeof(float));
constexpr int64_t kMaxPartialSums = 4096;  // 32 KiB of work space, whatever the number of parameters

/// Running sums of squares in double, for the lower and the upper lanes.
struct Squares {
  D8 low{}, high{};
  void add(F16 v) {
    using F8 = float __attribute__((vector_size(32)));
    const auto halves = std::bit_cast<std::array<F8, 2>>(v);
    const D8 a = __builtin_convertvector(halves[0], D8), b = __builtin_convertvector(halves[1], D8);
    low += a * a;
    high += b * b;
  }
  double sum() const { return simd::sum(low + high); }
};

struct AdamwNumbers {
  float grad_scale, beta1, rest1, beta2, rest2, keep, rate, root_correction, epsilon, ema_rest;
};

template <bool kEma>
void adamw_piece(float* value, float* first, float* second, float* ema, const float* grad, int64_t count,
                 const AdamwNumbers& a) {
  for_lanes(
      count, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
        const F16 g = load_ahead(grad + i, n, kAhead) * a.grad_scale;
        const F16 m = a.beta1 * load_ahead(first + i, n, kAhead) + a.rest1 * g;
        const F16 v = a.beta2 * load_ahead(second + i, n, kAhead) + a.rest2 * (g * g);
        const F16 root = simd::sqrt(v);
        const F16 updated =
            load_ahead(value + i, n, kAhead) * a.keep - a.rate * m / (root * a.root_correction + a.epsilon);
        store(first + i, m, n);
        store(second + i, v, n);
        store(value + i, updated, n);
        if constexpr (kEma) {
          const F16 average = load_ahead(ema + i, n, kAhead);
          store(ema + i, average + a.ema_rest * (updated - average), n);
        }
      });
}

}  // namespace

double CpuOps::squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y, const Tensor& target,
                             const Tensor& weight, double grad_scale) const {
  checks::check_squared_error(Device::kCpu, dy, row_loss, y, target, weight);
  const int64_t T = y.rows(), P = y.row_size();
  const ArenaScope scope(workspace_);
  double* sums = workspace_.take({T}, DType::kF64).data<double>();
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    for_rows(pool_, T, [&](int64_t t) {
      const float w = weight.data<float>()[t], factor = float(2.0 * double(w) * grad_scale);
      const float *from = y.row<float>(t), *aim = target.row<float>(t);
      Dy* to = dy.row<Dy>(t);
      Squares total;
      for_lanes(
          P, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
            const F16 difference = load(from + i, n) - load(aim + i, n);
            total.add(difference);
            store(to + i, difference * factor, n);
          });
      sums[t] = double(w) * total.sum();
      row_loss.data<float>()[t] = float(sums[t]);
    });
  });
  double total = 0;
  for (int64_t t = 0; t < T; ++t) total += sums[t];
  return total;
}

double CpuOps::sum_squares(const Tensor& x) const {
  checks::check_sum_squares(Device::kCpu, x);
  const int64_t count = x.size();
  const int64_t piece =
      std::max(kPiece, (count / kMaxPartialSums + simd::kLanes) / simd::kLanes * simd::kLanes);
  const int64_t pieces = (count + piece - 1) / piece;
  const ArenaScope scope(workspace_);
  double* sums = workspace_.take({pieces}, DType::kF64).data<double>();
  const float* data = x.data<float>();
  pool_.parallel_for(pieces, [&](int64_t p) {
    const float* from = data + p * piece;
    const int64_t size = std::min(piece, count - p * piece);
    std::array<Squares, 4> totals;
    simd::for_four_lanes(
        size, [&](int64_t i, int64_t n, auto k)
                  __attribute__((always_inline)) { totals[k].add(load_ahead(from + i, n, kAhead)); });
    sums[p] = (totals[0].sum() + totals[1].sum()) + (totals[2].sum() + totals[3].sum());
  });
  double total = 0;
  for (int64_t p = 0; p < pieces; ++p) total += sums[p];
  return total;
}

void CpuOps::adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
                   const Tensor& grad, const AdamwStep& step) const {
  checks::check_adamw(Device::kCpu, value, first, second, ema, grad, step);
  const int64_t count = value.size();
  const double correction1 = 1 - std::pow(step.beta1, double(step.step));
  const double correction2 = 1 - std::pow(step.beta2, double(step.step));
  const AdamwNumbers numbers{float(step.grad_scale),
                             float(step.beta1),
                             float(1 - step.beta1),
                             float(step.beta2),
                             float(1 - step.beta2),
                             float(1 - step.learning_rate * step.weight_decay),
                             float(step.learning_rate / correction1),
                             float(1 / std::sqrt(correction2)),
                             float(step.epsilon),
                             float(1 - step.ema_decay)};
  float* ema_data = ema.defined() ? ema.data<float>() : nullptr;
  pool_.parallel_for((count + kPiece - 1) / kPiece, [&](int64_t p) {
    const int64_t at = p * kPiece, n = std::min(kPiece, count - at);
    float *v = value.data<float>() + at, *m = first.data<float>() + at, *s = second.data<float>() + at;
    if (ema_data) adamw_piece<true>(v, m, s, ema_data + at, grad.data<float>() + at, n, numbers);
    else adamw_piece<false>(v, m, s, nullptr, grad.data<float>() + at, n, numbers);
  });
}

}  // namespace zoetrope
