// Activations, gated residual additions, conversions: one pass each.
#include <algorithm>
#include <type_traits>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/cpu/simd_pairs.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::F16;
using simd::for_lanes;
using simd::load;
using simd::load_ahead;
using simd::put;
using simd::store;

// The tanh form of GELU is x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3); SiLU is x sigmoid(x).
constexpr float kTwoRootTwoOverPi = 1.5957691216057308f, kCubic = 0.044715f;

/// Degree of the power of two behind a result of type Y: 7e-6 is little beside the 2e-3 of a bf16 rounding.
template <class Y>
constexpr int kDegree = std::is_same_v<Y, bf16> ? 4 : 6;

/// What an activation is made of: r, the sigmoid of the argument (`rise`), and (1 - r) / r (`odds`), which is
/// e to the minus argument.
template <Activation kActivation, int kExpDegree>
struct Sigmoid {
  F16 odds, rise;
  F16 square{};  ///< of x, GELU only

  /// Beyond `kLargest` odds are 2^126 or its inverse.
  __attribute__((always_inline)) explicit Sigmoid(F16 x) {
    constexpr bool kGelu = kActivation == Activation::kGelu;
    constexpr float kLargest = kGelu ? 10.0f : 87.0f, kMinusLog2e = -1.44269504088896341f;
    constexpr float kLinear = kMinusLog2e * (kGelu ? kTwoRootTwoOverPi : 1.0f);
    const F16 c = simd::clamp(x, kLargest);
    F16 factor = simd::splat(kLinear);
    if constexpr (kGelu) {
      square = c * c;
      factor += kLinear * kCubic * square;
    }
    odds = simd::exp2_of_product<kExpDegree>(c, factor);
    rise = simd::reciprocal(1.0f + odds);
  }
  /// d(x rise)/dx = rise + x d(argument)/dx rise (1 - rise).
  __attribute__((always_inline)) F16 slope(F16 x) const {
    F16 inner = x;
    if constexpr (kActivation == Activation::kGelu)
      inner = x * (kTwoRootTwoOverPi + 3 * kTwoRootTwoOverPi * kCubic * square);
    return rise + inner * (odds * rise) * rise;
  }
};

template <Activation kActivation, int kExpDegree>
inline __attribute__((always_inline)) F16 activated(F16 x) {
  if constexpr (kActivation == Activation::kNone) return x;
  else return x * Sigmoid<kActivation, kExpDegree>(x).rise;
}

template <Activation kActivation, int kExpDegree>
inline __attribute__((always_inline)) F16 slope(F16 x) {
  if constexpr (kActivation == Activation::kNone) return simd::splat(1.0f);
  else return Sigmoid<kActivation, kExpDegree>(x).slope(x);
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

constexpr int64_t kPiece = 131072;  // elements of a dense tensor per task: what is asked for ahead is its own

/// y = f(x, y's place, lanes) elementwise over matrices or vectors of any type pair; whether f reads y's
/// place.
template <bool kReadsY = false, class F>
void map(const char* op, const ThreadPool& pool, const Tensor& y, const Tensor& x, const F& f) {
  ZT_CHECK(y.rows() == x.rows() && y.row_size() == x.row_size(), op, ": y is ", y.shape_text(), ", x is ",
           x.shape_text());
  const bool flat = y.dense() && x.dense();  // then cut into even pieces whatever the shape
  const int64_t width = flat ? kPiece : x.row_size();
  const int64_t rows = flat ? (x.size() + width - 1) / width : x.rows();
  dispatch(y.dtype(), [&]<class Y>(Y) {
    dispatch(x.dtype(), [&]<class X>(X) {
      const int64_t ahead = flat ? kAheadBytes / int64_t(sizeof(X)) : ahead_of(x);
      with_streaming(y, kReadsY || y.raw() == x.raw(), [&]<bool kStream>() {
        for_rows(
            pool, rows,
            [&](int64_t t) {
              Y* to = y.data<Y>() + t * (flat ? width : y.row_stride());
              const X* from = x.data<X>() + t * (flat ? width : x.row_stride());
              const int64_t count = flat ? std::min(width, x.size() - t * width) : width;
              int64_t begin = 0;
              if constexpr (!kReadsY && std::is_same_v<X, bf16> && std::is_same_v<Y, bf16>)
                for (; begin + 2 * simd::kLanes <= count; begin += 2 * simd::kLanes) {
                  simd::ask(from + begin + ahead);
                  const simd::Pair v = simd::load_pair(from + begin);
                  simd::put_pair<kStream>(to + begin, {f(v.first, to, 0), f(v.second, to, 0)});
                }
              for_lanes(
                  count - begin, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
                    put<kStream>(to + begin + i, f(load_ahead(from + begin + i, n, ahead), to + begin + i, n),
                                 n);
                  });
            },
            flat ? 1 : kSumRows);
      });
    });
  });
}

}  // namespace

void CpuOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  for_activation(activation, [&]<Activation kActivation>() {
    map(
        "activate", pool_, y, x, []<class Y>(F16 v, const Y*, int64_t) __attribute__((always_inline)) {
          return activated<kActivation, kDegree<Y>>(v);
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
  const int64_t ahead_dy = ahead_of(dy), ahead_x = ahead_of(x);
  dispatch(dx.dtype(), [&]<class Dx>(Dx) {
    dispatch(dy.dtype(), [&]<class Dy>(Dy) {
      dispatch(x.dtype(), [&]<class X>(X) {
        for_activation(activation, [&]<Activation kActivation>() {
          for_rows(pool_, T, [&](int64_t t) {
            Dx* to = dx.row<Dx>(t);
            const Dy* gradient = dy.row<Dy>(t);
            const X* from = x.row<X>(t);
            int64_t begin = 0;
            if constexpr (std::is_same_v<X, bf16> && std::is_same_v<Dy, bf16> && std::is_same_v<Dx, bf16>)
              for (; begin + 2 * simd::kLanes <= D; begin += 2 * simd::kLanes) {
                simd::ask(gradient + begin + ahead_dy);
                simd::ask(from + begin + ahead_x);
                const simd::Pair d = simd::load_pair(gradient + begin), v = simd::load_pair(from + begin);
                simd::put_pair<false>(to + begin, {d.first * slope<kActivation, kDegree<Dx>>(v.first),
                                                   d.second * slope<kActivation, kDegree<Dx>>(v.second)});
              }
            for_lanes(
                D - begin, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
                  const int64_t i = begin + k;
                  const F16 d = load_ahead(gradient + i, n, ahead_dy), v = load_ahead(from + i, n, ahead_x);
                  store(to + i, d * slope<kActivation, kDegree<Dx>>(v), n);
                });
          });
        });
      });
    });
  });
}

void CpuOps::gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                           const Tensor& segment) const {
  checks::check_gate_residual(Device::kCpu, y, x, branch, gate, segment);
  const int64_t T = x.rows(), D = x.row_size();
  const int64_t ahead_x = ahead_of(x), ahead_branch = ahead_of(branch);
  dispatch(branch.dtype(), [&]<class B>(B) {
    with_streaming(y, y.raw() == x.raw(), [&]<bool kStream>() {
      for_rows(pool_, T, [&](int64_t t) {
        float* to = y.row<float>(t);
        const float* from = x.row<float>(t);
        const B* added = branch.row<B>(t);
        if (!gate.defined()) {
          for_lanes(
              D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
                put<kStream>(to + i,
                             load_ahead(from + i, n, ahead_x) + load_ahead(added + i, n, ahead_branch), n);
              });
          return;
        }
        const float* g = gate.row<float>(segment.data<int32_t>()[t]);
        for_lanes(
            D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
              const F16 base = load_ahead(from + i, n, ahead_x);
              put<kStream>(to + i, base + load(g + i, n) * load_ahead(added + i, n, ahead_branch), n);
            });
      });
    });
  });
}

void CpuOps::gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                    const Tensor& branch, const Tensor& gate, const Tensor& segment) const {
  if (!gate.defined()) return convert(dbranch, dy);
  checks::check_gate_residual_backward(Device::kCpu, dbranch, dgate, dy, branch, gate, segment);
  const int64_t T = dy.rows(), D = dy.row_size();
  const int64_t ahead_dy = ahead_of(dy), ahead_branch = ahead_of(branch);
  dispatch(branch.dtype(), [&]<class B>(B) {
    with_streaming(dbranch, dbranch.raw() == dy.raw() || dbranch.raw() == branch.raw(), [&]<bool kStream>() {
      sum_by_segment<1>(pool_, workspace_, T, D, segment.data<int32_t>(), {dgate},
                        [&](int64_t t, int64_t s, const std::array<float*, 1>& sums) {
                          const float *gradient = dy.row<float>(t), *g = gate.row<float>(s);
                          const B* from = branch.row<B>(t);
                          B* to = dbranch.row<B>(t);
                          for_lanes(
                              D, [&, sum = sums[0] ](int64_t i, int64_t n) __attribute__((always_inline)) {
                                const F16 d = load_ahead(gradient + i, n, ahead_dy);
                                const F16 b = load_ahead(from + i, n, ahead_branch);
                                store(sum + i, load(sum + i, n) + b * d, n);
                                put<kStream>(to + i, load(g + i, n) * d, n);
                              });
                        });
    });
  });
}

void CpuOps::convert(const Tensor& y, const Tensor& x) const {
  map("convert", pool_, y, x, [](F16 v, const auto*, int64_t) { return v; });
}

void CpuOps::zero(const Tensor& x) const {
  if (x.dtype() != DType::kF32) return fill_zero(x);
  const int64_t width = x.dense() ? kPiece : x.row_size();
  const int64_t rows = x.dense() ? (x.size() + width - 1) / width : x.rows();
  with_streaming(x, false, [&]<bool kStream>() {
    for_rows(
        pool_, rows,
        [&](int64_t t) {
          float* to = x.data<float>() + t * (x.dense() ? width : x.row_stride());
          const int64_t count = x.dense() ? std::min(width, x.size() - t * width) : width;
          for_lanes(count, [&](int64_t i, int64_t n) { put<kStream>(to + i, F16{}, n); });
        },
        x.dense() ? 1 : kSumRows);
  });
}

void CpuOps::add(const Tensor& y, const Tensor& x) const {
  ZT_CHECK(y.dtype() == DType::kF32 && x.dtype() == DType::kF32, "add: y is ", y.shape_text(), ", x is ",
           x.shape_text(), ", expected f32");
  map<true>("add", pool_, y, x, [](F16 v, const auto* to, int64_t n) { return load(to, n) + v; });
}

}  // namespace zoetrope
