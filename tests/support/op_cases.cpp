#include "tests/support/op_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

/// [rows, columns] in a matrix of zeros.
Tensor rows_in(Layout layout, int64_t rows, int64_t columns, DType dtype) {
  if (layout == Layout::kDense) return Tensor::zeros({rows, columns}, dtype);
  if (layout == Layout::kOdd) return Tensor::zeros({rows, columns + 3}, dtype).columns(1, columns + 1);
  return Tensor::zeros({rows, (columns + 7) / 8 * 8}, dtype).columns(0, columns);
}

}  // namespace

const char* name_of(Layout layout) {
  return layout == Layout::kOdd ? "odd" : layout == Layout::kAligned ? "aligned" : "dense";
}

Tensor random_rows(Layout layout, int64_t rows, int64_t columns, uint64_t seed, DType dtype, double scale,
                   double offset) {
  const Tensor x = rows_in(layout, rows, columns, dtype);
  copy(x, random_matrix(rows, columns, seed, dtype, scale, offset));
  return x;
}

Tensor nan_rows(Layout layout, int64_t rows, int64_t columns, DType dtype) {
  const Tensor x = rows_in(layout, rows, columns, dtype);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t c = 0; c < columns; ++c) set_element(x, t, c, std::numeric_limits<double>::quiet_NaN());
  return x;
}

Tensor segments_of(int64_t T, int64_t S, Lengths lengths) {
  const Tensor segment = Tensor::empty({T}, DType::kI32);
  for (int64_t t = 0; t < T; ++t) {
    const double part = (double(t) + 0.5) / double(T);
    segment.data<int32_t>()[t] = lengths == Lengths::kEven
                                     ? int32_t(t * S / T)
                                     : std::min(int32_t(S) - 1, int32_t(double(S) * (1 - std::pow(part, 4))));
  }
  return segment;
}

}  // namespace zoetrope::test
