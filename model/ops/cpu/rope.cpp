// RMS norm over the whole row followed by the rotation of adjacent pairs within each head.
// Shapes: T rows, D = H K; the rotation table [T, K] holds (cos, sin) pairs interleaved.
#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::F16;
using simd::for_lanes;
using simd::I16;
using simd::load;
using simd::store;
using simd::sum;
using simd::Sums;

/// (a, b) -> (a cos - b sin, a sin + b cos) for each adjacent pair; `direction` -1 turns back.
F16 rotate(F16 pairs, F16 table, float direction) {
  constexpr I16 kSwap{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};
  constexpr I16 kCos{0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14};
  constexpr I16 kSin{1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15};
  constexpr F16 kSign{-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
  const F16 turned = __builtin_shuffle(pairs, kSwap) * (kSign * direction);
  return pairs * __builtin_shuffle(table, kCos) + turned * __builtin_shuffle(table, kSin);
}

/// Calls f(offset in the row, offset in the head's table, lanes, which of four sums) over all heads of a row.
template <class F>
__attribute__((always_inline)) inline void for_heads(int64_t num_heads, int64_t head_width, F&& f) {
  for (int64_t h = 0; h < num_heads; ++h)
    simd::for_four_lanes(
        head_width, [&](int64_t i, int64_t n, auto k)
                        __attribute__((always_inline)) { f(h * head_width + i, i, n, k); });
}

/// Elements from a row to the next one, which is fetched ahead: rows lie apart, so the processor does not
/// foresee it.
struct NextRow {
  int64_t dx, dy, x;
};

/// One row of `rms_norm_rope_backward`: dx, and dweight's summands added to `sums`.
template <bool kRotated, class X>
void backward_row(X* dx, float* sums, const float* dy, const X* x, float rstd, const float* weight,
                  const float* table, int64_t num_heads, int64_t width, NextRow next) {
  const auto turned_back = [&](int64_t i, int64_t j, int64_t n) __attribute__((always_inline)) {
    const F16 d = load(dy + i, n);
    if constexpr (kRotated) return rotate(d, load(table + j, n), -1.0f);
    else return d;
  };
  Sums projected{};
  for_heads(
      num_heads,
      width / num_heads, [&](int64_t i, int64_t j, int64_t n, auto k) __attribute__((always_inline)) {
        __builtin_prefetch(dy + next.dy + i);
        if (i % (64 / sizeof(X)) == 0) {
          __builtin_prefetch(x + next.x + i);
          __builtin_prefetch(dx + next.dx + i, 1);
        }
        const F16 d = turned_back(i, j, n) * (load(x + i, n) * rstd);
        projected[k] += d * load(weight + i, n);
        store(sums + i, load(sums + i, n) + d, n);
      });
  const float slope = rstd * (sum(projected) / float(width));
  for_heads(
      num_heads,
      width / num_heads, [&](int64_t i, int64_t j, int64_t n, auto) __attribute__((always_inline)) {
        const F16 g = turned_back(i, j, n) * load(weight + i, n);
        store(dx + i, (g - load(x + i, n) * slope) * rstd, n);
      });
}

void check_rotation(const char* op, const Tensor& rotation, int64_t T, int64_t D, int64_t num_heads) {
  ZT_CHECK(num_heads >= 1 && D % num_heads == 0, op, ": ", D, " columns don't split into ", num_heads,
           " heads");
  if (!rotation.defined()) return;
  const int64_t K = D / num_heads;
  ZT_CHECK(K % 2 == 0, op, ": the rotation needs an even head width, got ", K);
  check_wide(op, "rotation", rotation, T, K);
}

template <class X>
float inverse_rms(const X* x, int64_t width, float eps) {
  Sums squares{};
  simd::for_four_lanes(
      width, [&](int64_t i, int64_t n, auto k) __attribute__((always_inline)) {
        const F16 v = load(x + i, n);
        squares[k] += v * v;
      });
  return 1.0f / std::sqrt(sum(squares) / float(width) + eps);
}

}  // namespace

void CpuOps::rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                           const Tensor& rotation, int64_t num_heads, double eps) const {
  const char* op = "rms_norm_rope";
  const int64_t T = x.rows(), D = x.row_size();
  check_matrix(op, "x", x, T, D);
  check_matrix(op, "y", y, T, D);
  check_same_type(op, "y", y, x);
  check_vector(op, "rstd", rstd, T);
  check_vector(op, "weight", weight, D);
  check_rotation(op, rotation, T, D, num_heads);
  const float* w = weight.data<float>();
  dispatch(x.dtype(), [&]<class X>(X) {
    for_rows(pool_, T, [&](int64_t t) {
      const X* from = x.row<X>(t);
      X* to = y.row<X>(t);
      const float r = rstd.data<float>()[t] = inverse_rms(from, D, float(eps));
      if (!rotation.defined()) {
        for_lanes(
            D, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
              store(to + i, load(from + i, n) * r * load(w + i, n), n);
            });
        return;
      }
      const float* table = rotation.row<float>(t);
      for_heads(
          num_heads,
          D / num_heads, [&](int64_t i, int64_t j, int64_t n, auto) __attribute__((always_inline)) {
            store(to + i, rotate(load(from + i, n) * r * load(w + i, n), load(table + j, n), 1.0f), n);
          });
    });
  });
}

void CpuOps::rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                    const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                    const Tensor& rotation, int64_t num_heads) const {
  const char* op = "rms_norm_rope_backward";
  const int64_t T = x.rows(), D = x.row_size();
  check_matrix(op, "x", x, T, D);
  check_matrix(op, "dx", dx, T, D);
  check_same_type(op, "dx", dx, x);
  check_wide(op, "dy", dy, T, D);
  check_vector(op, "rstd", rstd, T);
  check_vector(op, "weight", weight, D);
  check_vector(op, "dweight", dweight, D);
  check_rotation(op, rotation, T, D, num_heads);
  const float* w = weight.data<float>();
  dispatch(x.dtype(), [&]<class X>(X) {
    sum_by_segment<1>(pool_, workspace_, T, D, nullptr, {dweight.reshape({1, D})},
                      [&](int64_t t, int64_t, const std::array<float*, 1>& sums) {
                        const float r = rstd.data<float>()[t];
                        const NextRow next{dx.row_stride(), dy.row_stride(), x.row_stride()};
                        if (rotation.defined())
                          backward_row<true>(dx.row<X>(t), sums[0], dy.row<float>(t), x.row<X>(t), r, w,
                                             rotation.row<float>(t), num_heads, D, next);
                        else
                          backward_row<false>(dx.row<X>(t), sums[0], dy.row<float>(t), x.row<X>(t), r, w,
                                              nullptr, 1, D, next);
                      });
  });
}

}  // namespace zoetrope
