// RMS norm and rotation: rows, their gradients, and the sum of gradients of the weight.
#include <cmath>

#include "tests/support/close.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

constexpr double kEps = 1e-6;

struct RopeCase {
  DType compute;
  int64_t T, H, K;
  Layout layout;
  bool rotated, in_place;  // in place: dx lies where dy does, y where x does

  int64_t width() const { return H * K; }
  std::string name() const {
    return join_message("T ", T, " H ", H, " K ", K, " ", zoetrope::name_of(compute), " ", name_of(layout),
                        rotated ? " rotated" : "", in_place ? " in place" : "");
  }
};

Tensor rotation_of(const RopeCase& c) {
  if (!c.rotated) return Tensor();
  const Tensor rotation = random_rows(c.layout, c.T, c.K, 9);
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t j = 0; j < c.K / 2; ++j) {
      rotation.row<float>(t)[2 * j] = float(std::cos(0.3 * double(t) + double(j)));
      rotation.row<float>(t)[2 * j + 1] = float(std::sin(0.3 * double(t) + double(j)));
    }
  return rotation;
}

/// The operands of a case, its results, and the reference's rows.
struct RopeRun {
  const RopeCase& c;
  Tensor x, weight, dy, dy0, rotation, y, rstd, dx, dweight, dweight0;
  std::vector<double> inverse;  ///< 1 / rms of each row

  RopeRun(const RopeCase& rope, const OpsUnderTest& backend)
      : c(rope),
        x(random_rows(c.layout, c.T, c.width(), 1, c.compute)),
        weight(random_vector(c.width(), 2)),
        dy(random_rows(c.layout, c.T, c.width(), 3)),
        dy0(clone(dy)),
        rotation(rotation_of(c)),
        y(c.in_place ? random_rows(c.layout, c.T, c.width(), 1, c.compute)
                     : nan_rows(c.layout, c.T, c.width(), c.compute)),
        rstd(nan_vector(c.T)),
        dx(c.in_place ? dy : nan_rows(c.layout, c.T, c.width(), c.compute)),
        dweight(random_vector(c.width(), 4)),
        dweight0(clone(dweight)) {
    backend.run([&](Placed& p) {
      p.ops().rms_norm_rope(p.out(y), p.out(rstd), p.in(c.in_place ? y : x), p.in(weight), p.in(rotation),
                            c.H, kEps);
      p.ops().rms_norm_rope_backward(p.out(dx), p.out(dweight), p.in(dy), p.in(x), p.out(rstd), p.in(weight),
                                     p.in(rotation), c.H);
    });
    for (int64_t t = 0; t < c.T; ++t) {
      double squares = 0;
      for (int64_t i = 0; i < c.width(); ++i) squares += std::pow(element(x, t, i), 2) / double(c.width());
      inverse.push_back(1 / std::sqrt(squares + kEps));
    }
  }

  /// Rotates pair (i, i ^ 1) of values v(i) by +1 or -1 times the angle; mass: with absolute values. A head
  /// starts at an even column.
  template <class V>
  double rotate(const V& v, int64_t t, int64_t i, double direction, bool mass) const {
    if (!c.rotated) return mass ? std::abs(v(i)) : v(i);
    const int64_t j = i % c.K, even = j / 2 * 2;
    const double cosine = element(rotation, t, even), sine = element(rotation, t, even + 1) * direction;
    const double other = v(i ^ 1) * (j % 2 ? sine : -sine);
    return mass ? std::abs(v(i) * cosine) + std::abs(other) : v(i) * cosine + other;
  }
  double turned(int64_t t, int64_t i, bool mass) const {
    return rotate([&](int64_t k) { return element(dy0, t, k); }, t, i, -1, mass);
  }
};

void check_gradients(const RopeRun& run, double relative) {
  const RopeCase& c = run.c;
  const int64_t D = c.width();
  std::vector<double> slope(size_t(c.T)), mass(size_t(c.T));
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t i = 0; i < D; ++i) {
      const double n = element(run.x, t, i) * run.inverse[size_t(t)] * element(run.weight, i, 0);
      slope[size_t(t)] += run.turned(t, i, false) * n / double(D);
      mass[size_t(t)] += run.turned(t, i, true) * std::abs(n) / double(D);
    }
  const auto value = [&](int64_t t, int64_t i) {
    const double r = run.inverse[size_t(t)];
    return r * (run.turned(t, i, false) * element(run.weight, i, 0) -
                element(run.x, t, i) * r * slope[size_t(t)]);
  };
  EXPECT_TRUE(all_within(run.dx, value, [&](int64_t t, int64_t i) {
    const double r = run.inverse[size_t(t)], n = std::abs(element(run.x, t, i) * r);
    const double size = run.turned(t, i, true) * std::abs(element(run.weight, i, 0)) + n * mass[size_t(t)];
    return kUnitF32 * (12 + 6 * std::sqrt(double(D))) * r * size + store_bound(c.compute, value(t, i));
  }));
  const auto column = [&](int64_t i, bool bound) {
    double total = element(run.dweight0, i, 0), sum_mass = std::abs(total);
    for (int64_t t = 0; t < c.T; ++t) {
      const double n = element(run.x, t, i) * run.inverse[size_t(t)];
      total += run.turned(t, i, false) * n;
      sum_mass += run.turned(t, i, true) * std::abs(n);
    }
    return bound ? dot_bound(sum_mass, total, c.T + 1) + relative * sum_mass : total;
  };
  EXPECT_TRUE(all_within(
      run.dweight, [&](int64_t i, int64_t) { return column(i, false); },
      [&](int64_t i, int64_t) { return column(i, true); }));
}

void check_case(const RopeCase& c, const OpsUnderTest& backend) {
  SCOPED_TRACE(c.name());
  const RopeRun run(c, backend);
  const double relative = kUnitF32 * (10 + 2 * std::sqrt(double(c.width())));
  const auto value = [&](int64_t t, int64_t i, bool mass) {
    const auto normed = [&](int64_t k) {
      return element(run.x, t, k) * run.inverse[size_t(t)] * element(run.weight, k, 0);
    };
    return run.rotate(normed, t, i, 1, mass);
  };
  EXPECT_TRUE(all_within(
      run.y, [&](int64_t t, int64_t i) { return value(t, i, false); },
      [&](int64_t t, int64_t i) {
        return relative * value(t, i, true) + store_bound(c.compute, value(t, i, false));
      }));
  EXPECT_TRUE(all_within(
      run.rstd, [&](int64_t t, int64_t) { return run.inverse[size_t(t)]; },
      [&](int64_t t, int64_t) { return relative * run.inverse[size_t(t)]; }));
  check_gradients(run, relative);
}

}  // namespace

void check_rms_norm_rope(const OpsUnderTest& backend) {
  using Heads = std::pair<int64_t, int64_t>;
  for (const DType compute : kTypes)
    for (const int64_t T : {0, 1, 33, 130})
      for (const auto& [H, K] : {Heads{2, 24}, {1, 2}, {3, 64}, {2, 17}, {1, 1}, {5, 10}, {1, 257}, {2, 128}})
        for (const Layout layout : kLayouts)
          for (const bool rotated : {false, true}) {
            if (rotated && K % 2) continue;
            if (backend.takes_next()) check_case({compute, T, H, K, layout, rotated, false}, backend);
            if (compute == DType::kF32 && backend.takes_next())
              check_case({compute, T, H, K, layout, rotated, true}, backend);
          }
  // Rows that no block of a GPU holds.
  check_case({DType::kF32, 3, 5, 3280, Layout::kDense, true, true}, backend);
  check_case({DType::kBF16, 2, 3, 5501, Layout::kOdd, false, false}, backend);
  // Rows that several warps share.
  for (const Layout layout : kLayouts) {
    check_case({DType::kF32, 40, 5, 136, layout, true, false}, backend);
    check_case({DType::kBF16, 20, 4, 260, layout, true, false}, backend);
    check_case({DType::kF32, 20, 3, 343, layout, false, true}, backend);
  }
}

}  // namespace zoetrope::test
