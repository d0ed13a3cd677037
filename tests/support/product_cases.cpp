#include "tests/support/product_cases.h"

#include <cmath>

#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

struct Shape {
  int64_t T, N, K;
};
/// Vectors in every place, around multiples of 8 and 64, odd widths, one longer sum.
constexpr Shape kShapes[] = {{0, 3, 5},   {1, 1, 1},    {1, 31, 2},   {2, 1, 33},  {31, 64, 1}, {33, 33, 48},
                             {1, 64, 64}, {40, 72, 56}, {130, 24, 9}, {257, 8, 3}, {7, 16, 290}};

/// A weight of the case on the host; `placed` makes it one of the backend.
struct HostWeight {
  Tensor value;
  Weight placed(Placed& p, DType compute) const {
    Weight weight;
    weight.value = p.in(value);
    p.ops().reserve_prepared(weight, compute);
    p.ops().prepare(weight, compute);
    return weight;
  }
  /// As the products see it.
  double at(int64_t n, int64_t k, DType compute) const {
    const double exact = element(value, n, k);
    return compute == DType::kBF16 ? double(float(bf16(float(exact)))) : exact;
  }
};

/// A sum of terms, or of their absolute values.
class Sum {
 public:
  explicit Sum(bool mass) : mass_(mass) {}
  void add(double term) { total_ += mass_ ? std::abs(term) : term; }
  double total() const { return total_; }

 private:
  bool mass_;
  double total_ = 0;
};

Tensor nan_matrix(int64_t rows, int64_t columns, DType dtype, int64_t padding) {
  return random_matrix(rows, columns, 1, dtype, 0, std::nan(""), padding);
}

void check_linear_case(const OpsUnderTest& backend, DType compute, DType out, const Shape& s,
                       int64_t padding) {
  const auto [T, N, K] = s;
  const HostWeight weight{random_matrix(N, K, 3)};
  const Tensor x = random_matrix(T, K, 1, compute, 1, 0, padding), bias = random_vector(N, 2);
  const Tensor dy = random_matrix(T, N, 4, compute, 1, 0, padding);
  const Tensor y = nan_matrix(T, N, out, padding), plain = nan_matrix(T, N, out, padding),
               dx = nan_matrix(T, K, out, padding);
  backend.run([&](Placed& p) {
    const Weight w = weight.placed(p, compute);
    p.ops().linear(p.out(y), p.in(x), w, p.in(bias));
    p.ops().linear(p.out(plain), p.in(x), w, Tensor());
    p.ops().linear_backward_input(p.out(dx), p.in(dy), w);
  });
  const auto forward = [&](int64_t t, int64_t n, bool with_bias, bool mass) {
    Sum sum(mass);
    if (with_bias) sum.add(element(bias, n, 0));
    for (int64_t k = 0; k < K; ++k) sum.add(element(x, t, k) * weight.at(n, k, compute));
    return sum.total();
  };
  const auto backward = [&](int64_t t, int64_t k, bool mass) {
    Sum sum(mass);
    for (int64_t n = 0; n < N; ++n) sum.add(element(dy, t, n) * weight.at(n, k, compute));
    return sum.total();
  };
  for (const bool with_bias : {true, false})
    EXPECT_TRUE(all_within(
        with_bias ? y : plain, [&](int64_t t, int64_t n) { return forward(t, n, with_bias, false); },
        [&](int64_t t, int64_t n) {
          const double ref = forward(t, n, with_bias, false);
          // A backend may add the bias in the type of the output.
          return dot_bound(forward(t, n, with_bias, true), ref, K + 1) + store_bound(out, ref) +
                 (with_bias ? store_bound(out, element(bias, n, 0)) : 0);
        }))
        << (with_bias ? "with a bias" : "without a bias");
  EXPECT_TRUE(all_within(
      dx, [&](int64_t t, int64_t k) { return backward(t, k, false); },
      [&](int64_t t, int64_t k) {
        const double ref = backward(t, k, false);
        return dot_bound(backward(t, k, true), ref, N) + store_bound(out, ref);
      }));
}

void check_gradient_case(const OpsUnderTest& backend, DType compute, const Shape& s, int64_t padding) {
  const auto [T, N, K] = s;
  const Tensor x = random_matrix(T, K, 1, compute, 1, 0, padding),
               dy = random_matrix(T, N, 4, compute, 1, 0, padding);
  const Tensor dweight = random_matrix(N, K, 5), dbias = random_vector(N, 6);
  const Tensor dweight0 = clone(dweight), dbias0 = clone(dbias);
  backend.run(
      [&](Placed& p) { p.ops().linear_backward_weight(p.out(dweight), p.out(dbias), p.in(dy), p.in(x)); });
  const auto product = [&](int64_t n, int64_t k, bool mass) {
    Sum sum(mass);
    sum.add(element(dweight0, n, k));
    for (int64_t t = 0; t < T; ++t) sum.add(element(dy, t, n) * element(x, t, k));
    return sum.total();
  };
  const auto column = [&](int64_t n, bool mass) {
    Sum sum(mass);
    sum.add(element(dbias0, n, 0));
    for (int64_t t = 0; t < T; ++t) sum.add(element(dy, t, n));
    return sum.total();
  };
  EXPECT_TRUE(all_within(
      dweight, [&](int64_t n, int64_t k) { return product(n, k, false); },
      [&](int64_t n, int64_t k) { return dot_bound(product(n, k, true), product(n, k, false), T + 1); }));
  EXPECT_TRUE(all_within(
      dbias, [&](int64_t n, int64_t) { return column(n, false); },
      [&](int64_t n, int64_t) { return dot_bound(column(n, true), column(n, false), T + 1); }));
}

std::string case_name(const Shape& s, DType in, DType out, int64_t padding) {
  return join_message("T ", s.T, " N ", s.N, " K ", s.K, " ", name_of(in), " -> ", name_of(out),
                      " rows apart by ", padding);
}

}  // namespace

void check_linear(const OpsUnderTest& backend, DType compute) {
  for (const Shape& shape : kShapes)
    for (const int64_t padding : {0, 5, 8})
      for (const DType out : {compute, DType::kF32}) {
        SCOPED_TRACE(case_name(shape, compute, out, padding));
        check_linear_case(backend, compute, out, shape, padding);
        if (out == compute && compute == DType::kF32) break;
      }
}

void check_weight_gradient(const OpsUnderTest& backend, DType compute) {
  for (const Shape& shape : kShapes)
    for (const int64_t padding : {0, 5, 8}) {
      SCOPED_TRACE(case_name(shape, compute, DType::kF32, padding));
      check_gradient_case(backend, compute, shape, padding);
    }
}

void check_product_refusals(const OpsUnderTest& backend) {
  const Tensor x = random_matrix(3, 4, 1), narrow = random_matrix(3, 4, 1, DType::kBF16),
               y = random_matrix(3, 5, 2), w = random_matrix(5, 4, 3), bias = random_vector(4, 4),
               dbias = random_vector(5, 5);
  backend.run([&](Placed& p) {
    const Ops& ops = p.ops();
    Weight weight;
    weight.value = p.in(w);
    EXPECT_THROW(ops.linear(p.in(y), p.in(x), weight, p.in(bias)), Error) << "a bias of another width";
    EXPECT_THROW(ops.linear(p.in(x), p.in(x), weight, Tensor()), Error) << "an output of another width";
    EXPECT_THROW(ops.linear(p.in(y), p.in(narrow), weight, Tensor()), Error) << "an unprepared weight";
    EXPECT_THROW(ops.linear_backward_input(p.in(y), p.in(y), weight), Error) << "an input of another width";
    EXPECT_THROW(ops.linear_backward_weight(p.in(w), p.in(dbias), p.in(y), p.in(narrow)), Error)
        << "inputs of two types";
    EXPECT_THROW(ops.linear_backward_weight(p.in(w), p.in(bias), p.in(y), p.in(x)), Error)
        << "a bias gradient of another width";
  });
}

}  // namespace zoetrope::test
