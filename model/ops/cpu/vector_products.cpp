#include "model/ops/cpu/vector_products.h"

#include <utility>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope::cpu {
namespace {

/// The same product with steps in elements along both indices of every operand.
template <class In, class Out, class Bias>
struct View {
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column, bias_row, bias_column;
  Out* c;
  const In *a, *b;
  const Bias* bias;
  bool accumulate;

  /// c^T = b^T a^T.
  void transpose() {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a_row, b_column);
    std::swap(a_column, b_row);
    std::swap(c_row, c_column);
    std::swap(bias_row, bias_column);
  }
  float start(int64_t i, int64_t j) const {
    const float from = accumulate ? float(c[i * c_row + j * c_column]) : 0.0f;
    return bias ? from + float(bias[i * bias_row + j * bias_column]) : from;
  }
  void store(int64_t i, int64_t j, float value) const { c[i * c_row + j * c_column] = Out(value); }
};

/// Sixteen columns of c at a time, for rows of b that are dense.
template <class V>
void along_rows(const V& v, int64_t i) {
  simd::for_lanes(v.n, [&](int64_t j, int64_t lanes) {
    float values[simd::kLanes] = {};
    for (int64_t l = 0; l < lanes; ++l) values[l] = v.start(i, j + l);
    simd::F16 sum = simd::load(values);
    for (int64_t l = 0; l < v.k; ++l)
      sum += simd::splat(float(v.a[i * v.a_row + l * v.a_column])) * simd::load(v.b + l * v.b_row + j, lanes);
    simd::store(values, sum);
    for (int64_t l = 0; l < lanes; ++l) v.store(i, j + l, values[l]);
  });
}

/// One element of c at a time, for columns of b and rows of a that are dense.
template <class V>
void along_sums(const V& v, int64_t i) {
  for (int64_t j = 0; j < v.n; ++j) {
    simd::F16 sum{};
    simd::for_lanes(v.k, [&](int64_t l, int64_t lanes) {
      sum += simd::load(v.a + i * v.a_row + l, lanes) * simd::load(v.b + j * v.b_column + l, lanes);
    });
    v.store(i, j, v.start(i, j) + simd::sum(sum));
  }
}

template <class V>
void by_element(const V& v, int64_t i) {
  for (int64_t j = 0; j < v.n; ++j) {
    float sum = v.start(i, j);
    for (int64_t l = 0; l < v.k; ++l)
      sum += float(v.a[i * v.a_row + l * v.a_column]) * float(v.b[l * v.b_row + j * v.b_column]);
    v.store(i, j, sum);
  }
}

template <class In, class Out, class Bias>
void run(View<In, Out, Bias> v) {
  if (v.n == 1 && v.m > 1) v.transpose();
  for (int64_t i = 0; i < v.m; ++i) {
    if (v.b_column == 1 && v.n > 1) along_rows(v, i);
    else if ((v.a_column == 1 && v.b_row == 1) || v.k == 1) along_sums(v, i);
    else by_element(v, i);
  }
}

}  // namespace

void vector_product(const Product& p, void* c, const void* a, const void* b, const void* bias) {
  dispatch(p.in, [&]<class In>(In) {
    dispatch(p.out, [&]<class Out>(Out) {
      dispatch(p.bias, [&]<class Bias>(Bias) {
        run(View<In, Out, Bias>{p.m, p.n, p.k, p.a_row, p.a_column, p.b_row, p.b_column, p.c_row, 1, 0, 1,
                                static_cast<Out*>(c), static_cast<const In*>(a), static_cast<const In*>(b),
                                static_cast<const Bias*>(bias), p.accumulate});
      });
    });
  });
}

}  // namespace zoetrope::cpu
