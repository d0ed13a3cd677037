// Activations, gated residual additions, conversions: one pass each.
#include <algorithm>
#include <type_traits>

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
using simd::put;
using simd::store;

// The tanh form of GELU is x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3); SiLU is x sigmoid(x).
constexpr float kTwoRootTwoOverPi = 1.5957691216057308f, kCubic = 0.044715f;

/// Degree of the power of two behind a result of type Y: 7e-6 is little beside the 2e-3 of a bf16 rounding.
template <class Y>
constexpr int kDegree = std::is_same_v<Y, bf16> ? 4 : 6;

/// (1 - r) / r for the sigmoid r: e to the minus argument, at most 2^126.
template <Activation kActivation, int kExpDegree>
F16 odds_against(F16 x) {
  constexpr float kMinusLog2e = -1.44269504088896341f;
  constexpr float kLinear = kMinusLog2e * kTwoRootTwoOverPi;
  const F16 exponent =
      kActivation == Activation::kGelu ? x * (kLinear + kLinear * kCubic * (x * x)) : x * kMinusLog2e;
  return simd::exp2<kExpDegree>(simd::min(simd::splat(126.0f), exponent));
}

template <Activation kActivation, int kExpDegree>
F16 activated(F16 x) {
  if constexpr (kActivation == Activation::kNone) return x;
  else return x / (1.0f + odds_against<kActivation, kExpDegree>(x));
}

template <Activation kActivation, int kExpDegree>
F16 slope(F16 x) {
  if constexpr (kActivation == Activation::kNone) return simd::splat(1.0f);
  else {
    const F16 odds = odds_against<kActivation, kExpDegree>(x), rise = 1.0f / (1.0f + odds);
    F16 inner = x;  // x d(argument)/dx
    if constexpr (kActivation == Activation::kGelu)
      inner = x * (kTwoRootTwoOverPi + 3 * kTwoRootTwoOverPi * kCubic * (x * x));
    return rise + inner * (odds * rise) * rise;
  }
}

/// Calls run.operator()<activation>().
template <class Run>
void for_activation(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kNone: return run.template operator()<Activation::kNone>();
    case Activation::kGelu: return run.template operator()<Activation::kGelu>();
    case Activation::kSilu: return run.template operator()<Activation::kSilu>();
  }
}

void check_segments(const char* op, const Tensor& gate, const Tensor& segment, int64_t T, int64_t D) {
  if (!gate.defined()) return;
  check_wide(op, "gate", gate, gate.rows(), D);
  check_vector(op, "segment", segment, T, DType::kI32);
}

/// y = f(x, y's place, lanes) elementwise over matrices or vectors of any type pair.
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
      for_rows(
          pool, rows,
          [&](int64_t t) {
            Y* to = y.data<Y>() + t * (flat ? width : y.row_stride());
            const X* from = x.data<X>() + t * (flat ? width : x.row_stride());
            const int64_t count = flat ? std::min(width, x.size() - t * width) : width;
            for_lanes(
                count, [&](int64_t i, int64_t n)
                           __attribute__((always_inline)) { f(load(from + i, n), to + i, n); });
          },
          flat ? 1 : kSumRows);
    });
  });
}

}  // namespace

void CpuOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  for_activation(activation, [&]<Activation kActivation>() {
    map(
        "activate", pool_, y, x, [](F16 v, auto* to, int64_t n) __attribute__((always_inline)) {
          store(to, activated<kActivation, kDegree<std::remove_pointer_t<decltype(to)>>>(v), n);
        });
  });
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
        for_activation(activation, [&]<Activation kActivation>() {
          for_rows(pool_, T, [&](int64_t t) {
            Dx* to = dx.row<Dx>(t);
            const Dy* gradient = dy.row<Dy>(t);
            const X* from = x.row<X>(t);
            for_lanes(
                D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
                  store(to + i, load(gradient + i, n) * slope<kActivation, kDegree<Dx>>(load(from + i, n)),
                        n);
                });
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
    with_streaming(y, y.raw() == x.raw(), [&]<bool kStream>() {
      for_rows(pool_, T, [&](int64_t t) {
        float* to = y.row<float>(t);
        const float* from = x.row<float>(t);
        const B* added = branch.row<B>(t);
        if (!gate.defined()) {
          for_lanes(
              D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
                put<kStream>(to + i, load(from + i, n) + load(added + i, n), n);
              });
          return;
        }
        const float* g = gate.row<float>(segment.data<int32_t>()[t]);
        for_lanes(
            D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
              put<kStream>(to + i, load(from + i, n) + load(g + i, n) * load(added + i, n), n);
            });
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
                        const float *gradient = dy.row<float>(t), *g = gate.row<float>(s);
                        const B* from = branch.row<B>(t);
                        B* to = dbranch.row<B>(t);
                        for_lanes(
                            D, [&, sum = sums[0] ](int64_t i, int64_t n) __attribute__((always_inline)) {
                              const F16 d = load(gradient + i, n);
                              store(sum + i, load(sum + i, n) + load(from + i, n) * d, n);
                              store(to + i, load(g + i, n) * d, n);
                            });
                      });
  });
}

void CpuOps::convert(const Tensor& y, const Tensor& x) const {
  map("convert", pool_, y, x, [](F16 v, auto* to, int64_t n) { store(to, v, n); });
}

void CpuOps::zero(const Tensor& x) const {
  if (x.dtype() != DType::kF32) return fill_zero(x);
  with_streaming(x, false, [&]<bool kStream>() {
    map("zero", pool_, x, x, [](F16, auto* to, int64_t n) {
      if constexpr (std::is_same_v<decltype(to), float*>) put<kStream>(to, F16{}, n);
    });
  });
}

void CpuOps::add(const Tensor& y, const Tensor& x) const {
  ZT_CHECK(y.dtype() == DType::kF32 && x.dtype() == DType::kF32, "add: y is ", y.shape_text(), ", x is ",
           x.shape_text(), ", expected f32");
  map("add", pool_, y, x, [](F16 v, auto* to, int64_t n) { store(to, load(to, n) + v, n); });
}

}  // namespace zoetrope
