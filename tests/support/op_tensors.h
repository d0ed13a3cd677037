// Random inputs, and outputs that start as NaN between guard elements, for tests of operators.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/rng.h"
#include "core/tensor.h"
#include "model/ops/ops.h"
#include "tests/support/close.h"

namespace zoetrope::test {

inline void set_element(const Tensor& x, int64_t t, int64_t c, double value) {
  if (x.dtype() == DType::kF32) x.row<float>(t)[c] = float(value);
  else if (x.dtype() == DType::kBF16) x.row<bf16>(t)[c] = bf16(float(value));
  else x.row<double>(t)[c] = value;
}

/// Matrix of normal numbers times `scale` plus `offset`, rounded to `dtype`; a view whose rows are `padding`
/// elements further apart than its width.
inline Tensor random_matrix(int64_t rows, int64_t columns, uint64_t seed, DType dtype = DType::kF32,
                            double scale = 1, double offset = 0, int64_t padding = 0) {
  const Tensor whole = Tensor::zeros({rows, columns + padding}, dtype);
  const Tensor view = whole.columns(0, columns);
  std::vector<float> row(size_t(columns), 0.0f);
  for (int64_t t = 0; t < rows; ++t) {
    fill_normal({seed, Purpose::kNoise, 0, t}, row.data(), columns);
    for (int64_t c = 0; c < columns; ++c) set_element(view, t, c, scale * double(row[size_t(c)]) + offset);
  }
  return view;
}
inline Tensor random_vector(int64_t size, uint64_t seed, double scale = 1, double offset = 0) {
  return random_matrix(1, size, seed, DType::kF32, scale, offset).reshape({size});
}
/// A random weight [N, K], prepared for products in `compute`.
inline Weight make_weight(const Ops& ops, int64_t N, int64_t K, DType compute, uint64_t seed) {
  Weight weight;
  weight.value = random_matrix(N, K, seed);
  ops.reserve_prepared(weight, compute);
  ops.prepare(weight, compute);
  return weight;
}
inline Tensor clone(const Tensor& x) {
  const Tensor y = Tensor::empty({x.rows(), x.row_size()}, x.dtype());
  copy(y, x);
  return y;
}

/// An output of [rows, columns]: a view inside a larger matrix, all NaN; `guards_intact` tells whether
/// anything outside the view was written.
class Output {
 public:
  Output(int64_t rows, int64_t columns, DType dtype = DType::kF32, double fill = kNan)
      : whole_(Tensor::empty({rows + 2, columns + 6}, dtype)),
        view_(whole_.slice_rows(1, rows + 1).columns(0, columns)) {
    for (int64_t t = 0; t < whole_.rows(); ++t)
      for (int64_t c = 0; c < whole_.row_size(); ++c) set_element(whole_, t, c, kGuard);
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t c = 0; c < columns; ++c) set_element(view_, t, c, fill);
  }
  const Tensor& view() const { return view_; }
  bool guards_intact() const {
    for (int64_t t = 0; t < whole_.rows(); ++t)
      for (int64_t c = 0; c < whole_.row_size(); ++c) {
        const bool inside = t >= 1 && t <= view_.rows() && c < view_.row_size();
        if (!inside && element(whole_, t, c) != kGuard) return false;
      }
    return true;
  }

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kGuard = 77.0;  // exact in every type
  Tensor whole_, view_;
};

}  // namespace zoetrope::test
