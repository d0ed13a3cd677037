// Layer norms, modulated per segment or with weight and bias. Backward adds to the residual's gradient and
// sums the modulation's by segment. Shapes: T rows, D width, S segments.
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
using simd::for_lanes;
using simd::load;
using simd::put;
using simd::store;
using simd::sum;
using simd::Sums;

struct Statistics {
  float mean, rstd;
};

float mean_of(const Sums& total, int64_t width) { return sum(total) / float(width); }

/// `squares` holds those of (x - mean) over all whole steps of the row.
Statistics finish(const Sums& squares, float mean, const float* x, int64_t width, float eps) {
  float variance = sum(squares);
  for (int64_t i = width / simd::kLanes * simd::kLanes; i < width; ++i)
    variance += (x[i] - mean) * (x[i] - mean);
  return {mean, 1.0f / std::sqrt(variance / float(width) + eps)};
}

float row_mean(const float* x, int64_t width) {
  Sums total{};
  simd::for_four_lanes(
      width, [&](int64_t i, int64_t n, auto k)
                 __attribute__((always_inline)) { total[k] += load(x + i, n); });
  return mean_of(total, width);
}

Statistics row_statistics(const float* x, int64_t width, float eps) {
  const float mean = row_mean(x, width);
  Sums squares{};
  simd::for_four_lanes(
      width, [&](int64_t i, int64_t n, auto k) __attribute__((always_inline)) {
        const F16 d = load(x + i, n) - mean;
        if (n == simd::kLanes) squares[k] += d * d;
      });
  return finish(squares, mean, x, width, eps);
}

void save(const Tensor& stats, int64_t t, Statistics s) {
  float* row = stats.row<float>(t);
  row[0] = s.mean;
  row[1] = s.rstd;
}

/// The vectors of one row's segment.
struct Modulation {
  const float *shift, *scale;
};

/// y = (x - mean) rstd (offset + scale) + shift, offset 1 for modulation, 0 for an affine weight, and the
/// statistics. A pass writes one row, squares the next one and sums the one after, so that lines go to memory
/// and come from there at a steady rate. modulation(t) gives a row's vectors.
template <bool kStream, class Y, class ModulationOf>
void norm_rows(const Tensor& y, const Tensor& stats, const Tensor& x, int64_t begin, int64_t end,
               float offset, float eps, const ModulationOf& modulation) {
  const int64_t width = x.row_size(), ahead = ahead_of(x);
  const auto row = [&](int64_t t) { return x.row<float>(std::min(t, end - 1)); };
  Statistics s = row_statistics(row(begin), width, eps);
  float next_mean = row_mean(row(begin + 1), width);
  for (int64_t t = begin; t < end; ++t) {
    save(stats, t, s);
    const float *from = row(t), *next = row(t + 1), *after = row(t + 2);
    const Modulation m = modulation(t);
    Y* to = y.row<Y>(t);
    Sums total{}, squares{};
    simd::for_four_lanes(
        width, [&](int64_t i, int64_t n, auto k) __attribute__((always_inline)) {
          simd::ask(after + i + ahead);
          const F16 normal = (load(from + i, n) - s.mean) * s.rstd;
          put<kStream>(to + i, normal * (load(m.scale + i, n) + offset) + load(m.shift + i, n), n);
          const F16 d = load(next + i, n) - next_mean;
          if (n == simd::kLanes) squares[k] += d * d;
          total[k] += load(after + i, n);
        });
    s = finish(squares, next_mean, next, width, eps);
    next_mean = mean_of(total, width);
  }
}

/// All rows, in blocks.
template <class ModulationOf>
void norm_all(const ThreadPool& pool, const Tensor& y, const Tensor& stats, const Tensor& x, float offset,
              double eps, const ModulationOf& modulation) {
  dispatch(y.dtype(), [&]<class Y>(Y) {
    with_streaming(y, y.raw() == x.raw(), [&]<bool kStream>() {
      for_blocks(pool, x.rows(), [&](int64_t begin, int64_t end) {
        norm_rows<kStream, Y>(y, stats, x, begin, end, offset, float(eps), modulation);
      });
    });
  });
}

/// How far ahead of its use each operand is asked for, in elements; see Note [Rows ahead].
struct RowsAhead {
  int64_t dx, dy, x;
  RowsAhead(const Tensor& dx_rows, const Tensor& dy_rows, const Tensor& x_rows)
      : dx(ahead_of(dx_rows)), dy(ahead_of(dy_rows)), x(ahead_of(x_rows)) {}

  /// Asks for the lines of steps `kFirst` and the next one of four.
  template <int kStep, int kFirst, class Dy>
  void ask(const float* at_dx, const Dy* at_dy, const float* at_x) const {
    if constexpr (kStep == kFirst || kStep == kFirst + 1) {
      simd::ask(at_dx + dx);
      simd::ask(at_x + x);
      if (kStep == kFirst || sizeof(Dy) == 4) simd::ask(at_dy + dy);
    }
  }
};

/// dx += rstd (g - mean(g) - xhat mean(g xhat)) with g = dy (offset + scale); dscale += dy xhat, dshift +=
/// dy.
template <class Dy>
void norm_backward_row(float* dx, float* dshift, float* dscale, const Dy* dy, const float* x, Statistics s,
                       const float* scale, float offset, int64_t width, const RowsAhead& ahead) {
  Sums total{}, projected{};
  simd::for_four_lanes(
      width, [&](int64_t i, int64_t n, auto k) __attribute__((always_inline)) {
        ahead.ask<k, 0>(dx + i, dy + i, x + i);
        const F16 d = load(dy + i, n), g = d * (load(scale + i, n) + offset);
        const F16 normal = (load(x + i, n) - s.mean) * s.rstd;
        total[k] += g;
        projected[k] += g * normal;
        store(dshift + i, load(dshift + i, n) + d, n);
        store(dscale + i, load(dscale + i, n) + d * normal, n);
      });
  const float mean = sum(total) / float(width), slope = sum(projected) / float(width);
  simd::for_four_lanes(
      width, [&](int64_t i, int64_t n, auto k) __attribute__((always_inline)) {
        ahead.ask<k, 2>(dx + i, dy + i, x + i);
        const F16 g = load(dy + i, n) * (load(scale + i, n) + offset);
        const F16 normal = (load(x + i, n) - s.mean) * s.rstd;
        store(dx + i, load(dx + i, n) + s.rstd * ((g - mean) - normal * slope), n);
      });
}

Statistics saved(const Tensor& stats, int64_t t) {
  const float* row = stats.row<float>(t);
  return {row[0], row[1]};
}

}  // namespace

void CpuOps::layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                                 const Tensor& scale, const Tensor& segment, double eps) const {
  checks::check_layer_norm_modulate(Device::kCpu, y, stats, x, shift, scale, segment);
  const int32_t* segments = segment.data<int32_t>();
  norm_all(pool_, y, stats, x, 1.0f, eps, [&](int64_t t) {
    return Modulation{shift.row<float>(segments[t]), scale.row<float>(segments[t])};
  });
}

void CpuOps::layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                          const Tensor& dy, const Tensor& x, const Tensor& stats,
                                          const Tensor& scale, const Tensor& segment) const {
  checks::check_layer_norm_modulate_backward(Device::kCpu, dx, dshift, dscale, dy, x, stats, scale, segment);
  const int64_t T = x.rows(), D = x.row_size();
  const RowsAhead ahead(dx, dy, x);
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    sum_by_segment<2>(pool_, workspace_, T, D, segment.data<int32_t>(), {dshift, dscale},
                      [&](int64_t t, int64_t s, const std::array<float*, 2>& sums) {
                        norm_backward_row(dx.row<float>(t), sums[0], sums[1], dy.row<Dy>(t), x.row<float>(t),
                                          saved(stats, t), scale.row<float>(s), 1.0f, D, ahead);
                      });
  });
}

void CpuOps::layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, double eps) const {
  checks::check_layer_norm(Device::kCpu, y, stats, x, weight, bias);
  norm_all(pool_, y, stats, x, 0.0f, eps, [&](int64_t) {
    return Modulation{bias.data<float>(), weight.data<float>()};
  });
}

void CpuOps::layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                 const Tensor& dy, const Tensor& x, const Tensor& stats,
                                 const Tensor& weight) const {
  checks::check_layer_norm_backward(Device::kCpu, dx, dweight, dbias, dy, x, stats, weight);
  const int64_t T = x.rows(), D = x.row_size();
  const std::array<Tensor, 2> sums{dbias.reshape({1, D}), dweight.reshape({1, D})};
  const RowsAhead ahead(dx, dy, x);
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    sum_by_segment<2>(pool_, workspace_, T, D, nullptr, sums,
                      [&](int64_t t, int64_t, const std::array<float*, 2>& partial) {
                        norm_backward_row(dx.row<float>(t), partial[0], partial[1], dy.row<Dy>(t),
                                          x.row<float>(t), saved(stats, t), weight.data<float>(), 0.0f, D,
                                          ahead);
                      });
  });
}

}  // namespace zoetrope
