// Losses, sums of squares, additions, AdamW.
#include <cmath>

#include "tests/support/close.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

void check_squared_error(const Tensor& y, const Tensor& target, Layout layout, DType out,
                         const OpsUnderTest& backend) {
  const int64_t T = y.rows(), P = y.row_size();
  const Tensor weight = random_vector(T, 3, 0.1, 1), row_loss = nan_vector(T),
               dy = nan_rows(layout, T, P, out);
  double loss = 0, expected = 0;
  backend.run([&](Placed& p) {
    loss = p.number(
        p.ops().squared_error(p.out(dy), p.out(row_loss), p.in(y), p.in(target), p.in(weight), 0.25));
  });
  for (int64_t t = 0; t < T; ++t) {
    double row = 0;
    for (int64_t c = 0; c < P; ++c) row += std::pow(element(y, t, c) - element(target, t, c), 2);
    expected += element(weight, t, 0) * row;
    EXPECT_TRUE(is_within(element(row_loss, t, 0), element(weight, t, 0) * row, 8 * kUnitF32 * row * 2));
  }
  EXPECT_TRUE(is_within(loss, expected, 4 * kUnitF32 * expected));
  EXPECT_TRUE(all_within(
      dy,
      [&](int64_t t, int64_t c) {
        return 0.5 * element(weight, t, 0) * (element(y, t, c) - element(target, t, c));
      },
      [&](int64_t t, int64_t c) {
        const double ref = std::abs(element(y, t, c) - element(target, t, c)) * element(weight, t, 0);
        return 8 * kUnitF32 * ref + store_bound(out, ref);
      }));
}

void check_add(const Tensor& y, const Tensor& x, const OpsUnderTest& backend) {
  const Tensor before = clone(y);
  backend.run([&](Placed& p) { p.ops().add(p.out(y), p.in(x)); });
  EXPECT_TRUE(all_within(
      y, [&](int64_t t, int64_t c) { return element(before, t, c) + element(x, t, c); },
      [&](int64_t t, int64_t c) {
        return kUnitF32 * (std::abs(element(before, t, c)) + std::abs(element(x, t, c)));
      }));
}

/// `shift` elements from where a vector is aligned.
Tensor shifted(int64_t size, int64_t shift, uint64_t seed, double scale = 1, double offset = 0) {
  return random_vector(size + shift, seed, scale, offset).slice_rows(shift, size + shift);
}

void check_adamw_of(int64_t n, int64_t shift, bool averaged, const OpsUnderTest& backend) {
  SCOPED_TRACE(join_message("n ", n, averaged ? " averaged" : "", " from element ", shift));
  const Tensor value = shifted(n, shift, 1), grad = shifted(n, shift, 2), ema = shifted(n, shift, 3);
  const Tensor first = shifted(n, shift, 4, 0.1), second = shifted(n, shift, 5, 0.01, 1);
  const Tensor v0 = clone(value), m0 = clone(first), s0 = clone(second), e0 = clone(ema);
  const AdamwStep step{1e-2, 0.9, 0.999, 1e-8, 0.1, 0.5, 3, 0.99};
  backend.run([&](Placed& p) {
    p.ops().adamw(p.out(value), p.out(first), p.out(second), averaged ? p.out(ema) : Tensor(), p.in(grad),
                  step);
  });
  const auto m = [&](int64_t i) { return 0.9 * element(m0, i, 0) + 0.1 * 0.5 * element(grad, i, 0); };
  const auto s = [&](int64_t i) {
    return 0.999 * element(s0, i, 0) + 0.001 * std::pow(0.5 * element(grad, i, 0), 2);
  };
  const auto v = [&](int64_t i) {
    const double mhat = m(i) / (1 - std::pow(0.9, 3)), shat = s(i) / (1 - std::pow(0.999, 3));
    return element(v0, i, 0) * (1 - 1e-3) - 1e-2 * mhat / (std::sqrt(shat) + 1e-8);
  };
  const auto size = [&](int64_t i, const Tensor& t) { return std::abs(element(t, i, 0)); };
  EXPECT_TRUE(all_within(
      first, [&](int64_t i, int64_t) { return m(i); },
      [&](int64_t i, int64_t) { return 8 * kUnitF32 * (size(i, m0) + size(i, grad)); }));
  EXPECT_TRUE(all_within(
      second, [&](int64_t i, int64_t) { return s(i); },
      [&](int64_t i, int64_t) { return 8 * kUnitF32 * s(i); }));
  EXPECT_TRUE(all_within(
      value, [&](int64_t i, int64_t) { return v(i); },
      [&](int64_t i, int64_t) { return 8 * kUnitF32 * (size(i, v0) + size(i, m0) + size(i, grad)); }));
  EXPECT_TRUE(all_within(
      ema,
      [&](int64_t i, int64_t) {
        return averaged ? 0.99 * element(e0, i, 0) + 0.01 * v(i) : element(e0, i, 0);
      },
      [&](int64_t i, int64_t) { return averaged ? 8 * kUnitF32 * (size(i, e0) + size(i, v0) + 1) : 0.0; }));
}

void check_sum_squares(const Tensor& x, const OpsUnderTest& backend) {
  double found = 0, expected = 0;
  backend.run([&](Placed& p) { found = p.number(p.ops().sum_squares(p.in(x))); });
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) expected += std::pow(element(x, t, c), 2);
  // Sums in double, of squares without error: 1e-12 is n u with some 10^4 additions one after another.
  EXPECT_NEAR(found, expected, 1e-12 * expected) << x.shape_text();
}

}  // namespace

void check_losses(const OpsUnderTest& backend) {
  for (const int64_t T : {0, 1, 33, 300})
    for (const int64_t P : {1, 33, 257, 768})
      for (const Layout layout : kLayouts) {
        SCOPED_TRACE(join_message("T ", T, " P ", P, " ", name_of(layout)));
        const Tensor y = random_rows(layout, T, P, 1), target = random_rows(layout, T, P, 2);
        for (const DType out : kTypes) check_squared_error(y, target, layout, out, backend);
        check_add(y, target, backend);
      }
  for (const int64_t size : {0, 1, 33, 2047, 2048, 2049, 300 * 768})
    for (const int64_t shift : {0, 1}) check_sum_squares(shifted(size, shift, 6), backend);
}

void check_adamw(const OpsUnderTest& backend) {
  for (const int64_t n : {0, 1, 33, 2049, 40000})
    for (const int64_t shift : {0, 1})
      for (const bool averaged : {false, true}) check_adamw_of(n, shift, averaged, backend);
}

void check_long_inputs(const OpsUnderTest& backend) {
  constexpr int64_t T = 9001, S = 300;  // more than 512 blocks of 16 rows
  for (const int64_t D : {5, 8}) {
    SCOPED_TRACE(join_message("D ", D));
    const Tensor dy = random_rows(Layout::kDense, T, D, 1), branch = random_rows(Layout::kDense, T, D, 2);
    const Tensor gate = random_rows(Layout::kDense, S, D, 3), dbranch = nan_rows(Layout::kDense, T, D);
    const Tensor segment = segments_of(T, S, Lengths::kUneven), dgate = random_rows(Layout::kDense, S, D, 4);
    const Tensor dgate0 = clone(dgate), drow = random_vector(D, 5), drow0 = clone(drow);
    backend.run([&](Placed& p) {
      p.ops().gate_residual_backward(p.out(dbranch), p.out(dgate), p.in(dy), p.in(branch), p.in(gate),
                                     p.in(segment));
      p.ops().add_row_backward(p.out(drow), p.in(dy));
    });
    std::vector<double> total(size_t(S * D)), mass(size_t(S * D)), column(size_t(D), 0.0),
        column_mass(size_t(D), 0.0);
    for (int64_t i = 0; i < S * D; ++i) total[size_t(i)] = dgate0.data<float>()[i];
    for (int64_t i = 0; i < D; ++i) column[size_t(i)] = drow0.data<float>()[i];
    for (int64_t t = 0; t < T; ++t)
      for (int64_t i = 0; i < D; ++i) {
        const double d = element(dy, t, i), b = element(branch, t, i);
        const size_t at = size_t(segment_at(segment, t) * D + i);
        total[at] += d * b;
        mass[at] += std::abs(d * b);
        column[size_t(i)] += d;
        column_mass[size_t(i)] += std::abs(d);
      }
    EXPECT_TRUE(all_within(
        dgate, [&](int64_t s, int64_t i) { return total[size_t(s * D + i)]; },
        [&](int64_t s, int64_t i) {
          const size_t at = size_t(s * D + i);
          return dot_bound(mass[at] + std::abs(element(dgate0, s, i)), total[at], T + 1);
        }));
    EXPECT_TRUE(all_within(
        drow, [&](int64_t i, int64_t) { return column[size_t(i)]; },
        [&](int64_t i, int64_t) {
          return dot_bound(column_mass[size_t(i)] + std::abs(element(drow0, i, 0)), column[size_t(i)], T + 1);
        }));
  }
  check_sum_squares(random_rows(Layout::kDense, 1, (int64_t(2) << 20) + 12345, 7), backend);
}

void check_refusals(const OpsUnderTest& backend) {
  const Tensor a = random_matrix(4, 8, 1), b = random_matrix(4, 7, 2), d = Tensor::zeros({4, 8}, DType::kF64);
  const Tensor stats = random_matrix(4, 2, 3), segment = segments_of(4, 1, Lengths::kEven);
  const Tensor short_segment = segments_of(3, 1, Lengths::kEven), vector = random_vector(8, 4);
  const auto refuses = [&](const char* what, const std::function<void(Placed&)>& call) {
    backend.run([&](Placed& p) { EXPECT_THROW(call(p), Error) << what; });
  };
  refuses("another width", [&](Placed& p) { p.ops().convert(p.in(b), p.in(a)); });
  refuses("f64", [&](Placed& p) { p.ops().add(p.in(a), p.in(d)); });
  refuses("f64", [&](Placed& p) { p.ops().activate(p.in(a), p.in(d), Activation::kGelu); });
  refuses("another width",
          [&](Placed& p) { p.ops().activate_backward(p.in(a), p.in(b), p.in(a), Activation::kGelu); });
  refuses("too few segments", [&](Placed& p) {
    p.ops().layer_norm_modulate(p.in(a), p.in(stats), p.in(a), p.in(a), p.in(a), p.in(short_segment), 1e-6);
  });
  refuses("statistics of another shape", [&](Placed& p) {
    p.ops().layer_norm(p.in(a), p.in(a), p.in(a), p.in(vector), p.in(vector), 1e-6);
  });
  refuses("heads that don't divide the width", [&](Placed& p) {
    p.ops().rms_norm_rope(p.in(a), p.in(vector), p.in(a), p.in(vector), Tensor(), 3, 1e-6);
  });
  refuses("a gate of another width",
          [&](Placed& p) { p.ops().gate_residual(p.in(a), p.in(a), p.in(a), p.in(b), p.in(segment)); });
  refuses("a step that counts from 0", [&](Placed& p) {
    p.ops().adamw(p.in(vector), p.in(vector), p.in(vector), Tensor(), p.in(vector), {.step = 0});
  });
  refuses("rows that leave a gap", [&](Placed& p) {
    const std::vector<FlowRows> rows{{0, 1, 0.5, {}}, {2, 4, 0.5, {}}};
    p.ops().flow_inputs(p.in(a), Tensor(), Tensor(), rows, 2, true);
  });
  refuses("channels that don't divide the width",
          [&](Placed& p) { p.ops().flow_velocity(p.in(a), p.in(a), p.in(a), 3, 0); });
  refuses("a row of another width",
          [&](Placed& p) { p.ops().add_row(p.in(a), p.in(a), p.in(vector.slice_rows(0, 7))); });
}

}  // namespace zoetrope::test
