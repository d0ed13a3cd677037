// Activations, gated residual additions, conversions: one pass each.
#include <algorithm>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::F16;
using simd::for_lanes;
using simd::load;
using simd::store;

F16 sigmoid(F16 x) { return 1.0f / (1.0f + simd::exp(-x)); }

// The tanh form of GELU is x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kTwoRootTwoOverPi = 1.5957691216057308f, kCubic = 0.044715f;

F16 activated(F16 x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kGelu: return x * sigmoid(kTwoRootTwoOverPi * x * (1.0f + kCubic * x * x));
    case Activation::kSilu: return x * sigmoid(x);
  }
  return x;
}

F16 slope(F16 x, Activation activation) {
  if (activation == Activation::kNone) return simd::splat(1.0f);
  const bool gelu = activation == Activation::kGelu;
  const F16 squared = x * x;
  const F16 argument = gelu ? kTwoRootTwoOverPi * x * (1.0f + kCubic * squared) : x;
  const F16 inner = gelu ? kTwoRootTwoOverPi * x * (1.0f + 3 * kCubic * squared) : x;  // x d(argument)/dx
  const F16 rise = 1.0f / (1.0f + simd::exp(-argument)), fall = 1.0f / (1.0f + simd::exp(argument));
  return rise + inner * rise * fall;
}

void check_segments(const char* op, const Tensor& gate, const Tensor& segment, int64_t T, int64_t D) {
  if (!gate.defined()) return;
  check_wide(op, "gate", gate, gate.rows(), D);
  check_vector(op, "segment", segment, T, DType::kI32);
}

/// y = f(x) elementwise over matrices or vectors of any type pair.
template <class F>
void map(const char* op, const ThreadPool& pool, const Tensor& y, const Tensor& x, const F& f) {
  ZT_CHECK(y.rows() == x.rows() && y.row_size() == x.row_size(), op, ": y is ", y.shape_text(), ", x is ",
           x.shape_text());
  // Dense tensors are cut into even pieces whatever their shape; 16,384 elements are 64 KiB of L2 each.
  const bool flat = y.dense() && x.dense();
  const int64_t width = flat ? 16384 : x.row_size();
  const int64_t rows = flat ? (x.size() + width - 1) / width : x.rows();
  dispatch(y.dtype(), [&]<class Y>(Y) {
    dispatch(x.dtype(), [&]<class X>(X) {
      for_rows(pool, rows, [&](int64_t t) {
        Y* to = y.data<Y>() + t * (flat ? width : y.row_stride());
        const X* from = x.data<X>() + t * (flat ? width : x.row_stride());
        const int64_t count = flat ? std::min(width, x.size() - t * width) : width;
        for_lanes(count, [&](int64_t i, int64_t n) { store(to + i, f(load(from + i, n), to + i, n), n); });
      }, flat ? 1 : kSumRows);
    });
  });
}

}  // namespace

void CpuOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  const auto run = [&]<Activation kActivation>() {
    map("activate", pool_, y, x, [](F16 v, auto*, int64_t) { return activated(v, kActivation); });
  };
  if (activation == Activation::kGelu) run.operator()<Activation::kGelu>();
  else if (activation == Activation::kSilu) run.operator()<Activation::kSilu>();
  else run.operator()<Activation::kNone>();
}

void CpuOps::activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                               Activation activation) const {
  const char* op = "activate_backward";
  const int64_t T = x.rows(), D = x.row_size();
  check_matrix(op, "x", x, T, D);
  check_matrix(op, "dx", dx, T, D);
  check_matrix(op, "dy", dy, T, D);
  dispatch(dx.dtype(), [&]<class Dx>(Dx) {
    dispatch(dy.dtype(), [&]<class Dy>(Dy) {
      dispatch(x.dtype(), [&]<class X>(X) {
        for_rows(pool_, T, [&](int64_t t) {
          for_lanes(D, [&](int64_t i, int64_t n) {
            store(dx.row<Dx>(t) + i, load(dy.row<Dy>(t) + i, n) * slope(load(x.row<X>(t) + i, n), activation), n);
          });
        });
      });
    });
  });
}

void CpuOps::gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                           const Tensor& segment) const {
  const char* op = "gate_residual";
  const int64_t T = x.rows(), D = x.row_size();
  check_wide(op, "x", x, T, D);
  check_wide(op, "y", y, T, D);
  check_matrix(op, "branch", branch, T, D);
  check_segments(op, gate, segment, T, D);
  dispatch(branch.dtype(), [&]<class B>(B) {
    for_rows(pool_, T, [&](int64_t t) {
      float* to = y.row<float>(t);
      const float* from = x.row<float>(t);
      const B* added = branch.row<B>(t);
      if (!gate.defined()) {
        for_lanes(D, [&](int64_t i, int64_t n) { store(to + i, load(from + i, n) + load(added + i, n), n); });
        return;
      }
      const float* g = gate.row<float>(segment.data<int32_t>()[t]);
      for_lanes(D, [&](int64_t i, int64_t n) {
        store(to + i, load(from + i, n) + load(g + i, n) * load(added + i, n), n);
      });
    });
  });
}

void CpuOps::gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                    const Tensor& branch, const Tensor& gate, const Tensor& segment) const {
  const char* op = "gate_residual_backward";
  if (!gate.defined()) return convert(dbranch, dy);
  const int64_t T = dy.rows(), D = dy.row_size();
  check_wide(op, "dy", dy, T, D);
  check_matrix(op, "branch", branch, T, D);
  check_matrix(op, "dbranch", dbranch, T, D);
  check_same_type(op, "dbranch", dbranch, branch);
  check_segments(op, gate, segment, T, D);
  check_wide(op, "dgate", dgate, gate.rows(), D);
  dispatch(branch.dtype(), [&]<class B>(B) {
    sum_by_segment<1>(pool_, workspace_, T, D, segment.data<int32_t>(), {dgate},
                      [&](int64_t t, int64_t s, const std::array<float*, 1>& sums) {
      for_lanes(D, [&](int64_t i, int64_t n) {
        const F16 d = load(dy.row<float>(t) + i, n), b = load(branch.row<B>(t) + i, n);
        store(sums[0] + i, load(sums[0] + i, n) + b * d, n);
        store(dbranch.row<B>(t) + i, load(gate.row<float>(s) + i, n) * d, n);
      });
    });
  });
}

void CpuOps::convert(const Tensor& y, const Tensor& x) const {
  map("convert", pool_, y, x, [](F16 v, auto*, int64_t) { return v; });
}

void CpuOps::add(const Tensor& y, const Tensor& x) const {
  ZT_CHECK(y.dtype() == DType::kF32 && x.dtype() == DType::kF32, "add: y is ", y.shape_text(), ", x is ",
           x.shape_text(), ", expected f32");
  map("add", pool_, y, x, [](F16 v, const auto* to, int64_t n) { return load(to, n) + v; });
}

}  // namespace zoetrope
