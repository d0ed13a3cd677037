// RMS norm over the whole row followed by the rotation of adjacent pairs within each head.
// Shapes: T rows, D = H K; the rotation table [T, K] holds (cos, sin) pairs interleaved.
#include <algorithm>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::F16;
using simd::I16;
using simd::load;
using simd::put;
using simd::store;
using simd::sum;
using simd::Sums;

/// The rotation of 16 columns of every head of a row; `direction` -1 turns back.
class Rotation {
 public:
  Rotation(F16 table, float direction) {
    constexpr I16 kCos{0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14};
    constexpr I16 kSin{1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15};
    constexpr F16 kSign{-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
    cos_ = __builtin_shuffle(table, kCos);
    sin_ = __builtin_shuffle(table, kSin) * (kSign * direction);
  }
  /// (a, b) -> (a cos - b sin, a sin + b cos) for each adjacent pair.
  F16 operator()(F16 pairs) const {
    constexpr I16 kSwap{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};
    return pairs * cos_ + __builtin_shuffle(pairs, kSwap) * sin_;
  }

 private:
  F16 cos_, sin_;
};
/// In its place where there is none.
struct NoRotation {
  F16 operator()(F16 v) const { return v; }
};

/// Calls f(offset in the row, lanes, rotation, which of four sums) over all heads of a row: the same two
/// sixteens of columns (a line of bf16) of one head after the other, so that their rotations stay in
/// registers. `table` is the row of cosines and sines, or null for no rotation.
template <bool kRotated, class F>
__attribute__((always_inline)) inline void for_heads(int64_t num_heads, int64_t head_width,
                                                     const float* table, float direction, F&& f) {
  if constexpr (!kRotated) {
    simd::for_four_lanes(
        num_heads * head_width, [&](int64_t i, int64_t n, auto k)
                                    __attribute__((always_inline)) { f(i, n, NoRotation(), k); });
  } else {
    constexpr int64_t kTwo = 2 * simd::kLanes;
    int64_t j = 0;
    for (; j + kTwo <= head_width; j += kTwo) {
      const Rotation first(load(table + j), direction), second(load(table + j + simd::kLanes), direction);
      int64_t i = j, h = 0;
      for (; h + 2 <= num_heads; h += 2, i += 2 * head_width) {
        f(i, simd::kLanes, first, simd::Index<0>{});
        f(i + simd::kLanes, simd::kLanes, second, simd::Index<1>{});
        f(i + head_width, simd::kLanes, first, simd::Index<2>{});
        f(i + head_width + simd::kLanes, simd::kLanes, second, simd::Index<3>{});
      }
      if (h < num_heads) {
        f(i, simd::kLanes, first, simd::Index<0>{});
        f(i + simd::kLanes, simd::kLanes, second, simd::Index<1>{});
      }
    }
    for (; j < head_width; j += simd::kLanes) {
      const int64_t n = std::min(simd::kLanes, head_width - j);
      const Rotation rotation(load(table + j, n), direction);
      for (int64_t h = 0; h < num_heads; ++h) f(h * head_width + j, n, rotation, simd::Index<0>{});
    }
  }
}

/// One row of `rms_norm_rope_backward`: dx, and dweight's summands added to `sums`. Asks for what lies
/// `ahead_dy` and `ahead_x` elements further on as it goes.
template <bool kRotated, bool kStream, class X>
void backward_row(X* dx, float* sums, const float* dy, const X* x, float rstd, const float* weight,
                  const float* table, int64_t num_heads, int64_t width, int64_t ahead_dy, int64_t ahead_x) {
  Sums projected{};
  for_heads<kRotated>(
      num_heads, width / num_heads, table,
      -1.0f, [&](int64_t i, int64_t n, const auto& turn_back, auto k) __attribute__((always_inline)) {
        if constexpr (k < 2) simd::ask(dy + i + ahead_dy);
        if constexpr (k == 0) simd::ask(x + i + ahead_x);
        const F16 d = turn_back(load(dy + i, n)) * (load(x + i, n) * rstd);
        projected[k] += d * load(weight + i, n);
        store(sums + i, load(sums + i, n) + d, n);
      });
  const float slope = rstd * (sum(projected) / float(width));
  for_heads<kRotated>(
      num_heads, width / num_heads, table,
      -1.0f, [&](int64_t i, int64_t n, const auto& turn_back, auto k) __attribute__((always_inline)) {
        if constexpr (k >= 2) simd::ask(dy + i + ahead_dy);
        if constexpr (k == 2) simd::ask(x + i + ahead_x);
        const F16 g = turn_back(load(dy + i, n)) * load(weight + i, n);
        put<kStream>(dx + i, (g - load(x + i, n) * slope) * rstd, n);
      });
}

/// Rows [begin, end) of `rms_norm_rope`. A pass writes one row and squares the next one, so that lines go to
/// memory and come from there at a steady rate.
template <bool kRotated, bool kStream, class X>
void forward_rows(const Tensor& y, float* rstd, const Tensor& x, const float* weight, const Tensor& rotation,
                  int64_t num_heads, float eps, int64_t begin, int64_t end) {
  const int64_t width = x.row_size(), ahead = ahead_of(x);
  const auto pass = [&](int64_t t, const auto& f) __attribute__((always_inline)) {
    for_heads<kRotated>(num_heads, width / num_heads, kRotated ? rotation.row<float>(t) : nullptr, 1.0f, f);
  };
  Sums squares{};
  const X* from = x.row<X>(begin);
  pass(
      begin, [&](int64_t i, int64_t n, const auto&, auto k) __attribute__((always_inline)) {
        const F16 v = load(from + i, n);
        squares[k] += v * v;
      });
  for (int64_t t = begin; t < end; ++t) {
    const float r = rstd[t] = 1.0f / std::sqrt(sum(squares) / float(width) + eps);
    const X* next = x.row<X>(std::min(t + 1, end - 1));
    X* to = y.row<X>(t);
    Sums next_squares{};
    pass(
        t, [&](int64_t i, int64_t n, const auto& turn, auto k) __attribute__((always_inline)) {
          if (sizeof(X) == 4 || k % 2 == 0) simd::ask(next + i + ahead);
          put<kStream>(to + i, turn(load(from + i, n) * r * load(weight + i, n)), n);
          const F16 v = load(next + i, n);
          next_squares[k] += v * v;
        });
    squares = next_squares;
    from = next;
  }
}

}  // namespace

void CpuOps::rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                           const Tensor& rotation, int64_t num_heads, double eps) const {
  checks::check_rms_norm_rope(Device::kCpu, y, rstd, x, weight, rotation, num_heads);
  const int64_t T = x.rows();
  dispatch(x.dtype(), [&]<class X>(X) {
    with_streaming(y, y.raw() == x.raw(), [&]<bool kStream>() {
      const auto rows = [&]<bool kRotated>() {
        for_blocks(pool_, T, [&](int64_t begin, int64_t end) {
          forward_rows<kRotated, kStream, X>(y, rstd.data<float>(), x, weight.data<float>(), rotation,
                                             num_heads, float(eps), begin, end);
        });
      };
      if (rotation.defined()) rows.template operator()<true>();
      else rows.template operator()<false>();
    });
  });
}

void CpuOps::rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                    const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                    const Tensor& rotation, int64_t num_heads) const {
  checks::check_rms_norm_rope_backward(Device::kCpu, dx, dweight, dy, x, rstd, weight, rotation, num_heads);
  const int64_t T = x.rows(), D = x.row_size();
  const float* w = weight.data<float>();
  dispatch(x.dtype(), [&]<class X>(X) {
    with_streaming(dx, dx.raw() == dy.raw() || dx.raw() == x.raw(), [&]<bool kStream>() {
      sum_by_segment<1>(pool_, workspace_, T, D, nullptr, {dweight.reshape({1, D})},
                        [&](int64_t t, int64_t, const std::array<float*, 1>& sums) {
                          const auto row = [&]<bool kRotated>(const float* table) {
                            backward_row<kRotated, kStream>(dx.row<X>(t), sums[0], dy.row<float>(t),
                                                            x.row<X>(t), rstd.data<float>()[t], w, table,
                                                            num_heads, D, ahead_of(dy), ahead_of(x));
                          };
                          if (rotation.defined()) row.template operator()<true>(rotation.row<float>(t));
                          else row.template operator()<false>(nullptr);
                        });
    });
  });
}

}  // namespace zoetrope
