// Layer norms: rows normalised, gradients of rows, sums of gradients by segment.
#include <algorithm>
#include <cmath>

#include "tests/support/close.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

constexpr double kEps = 1e-6;

struct NormCase {
  DType compute;
  int64_t T, D;
  Layout layout;
  bool affine;
  Lengths lengths;

  int64_t num_segments() const { return affine ? 1 : std::min<int64_t>(T, 5); }
  std::string name() const {
    return join_message("T ", T, " D ", D, " ", zoetrope::name_of(compute), " ", name_of(layout),
                        affine                      ? " affine"
                        : lengths == Lengths::kEven ? " even"
                                                    : " uneven");
  }
};

/// One row in double: its statistics, and the means behind its gradient.
struct NormRow {
  double mean = 0, rstd = 0, most = 0;
  std::vector<double> normal, bound;  ///< normalised values, and how far f32 may be off
  double mean_g = 0, slope = 0, mass = 0, drift = 0;

  NormRow(const Tensor& x, int64_t t) {
    const int64_t D = x.row_size();
    for (int64_t c = 0; c < D; ++c) mean += element(x, t, c) / double(D);
    double variance = 0;
    for (int64_t c = 0; c < D; ++c) {
      variance += std::pow(element(x, t, c) - mean, 2) / double(D);
      most = std::max(most, std::abs(element(x, t, c)));
    }
    rstd = 1 / std::sqrt(variance + kEps);
    // A subtraction and the mean err by u max|x| rstd, rstd by u sqrt(D).
    for (int64_t c = 0; c < D; ++c) {
      const double n = (element(x, t, c) - mean) * rstd;
      normal.push_back(n);
      bound.push_back(kUnitF32 *
                      (8 * most * rstd * (1 + std::abs(n)) + (8 + 2 * std::sqrt(double(D))) * std::abs(n)));
    }
  }
  /// Sums over the row for the gradient g of its normalised values.
  template <class G>
  void project(const G& g) {
    const double D = double(normal.size());
    for (size_t c = 0; c < normal.size(); ++c) {
      mean_g += g(int64_t(c)) / D;
      slope += g(int64_t(c)) * normal[c] / D;
      mass += std::abs(g(int64_t(c))) * (1 + std::abs(normal[c])) / D;
      drift += std::abs(g(int64_t(c))) * bound[c] / D;
    }
  }
};

/// The operands of a case and its results.
struct NormRun {
  Tensor x, dy, shift, scale, segment, y, stats, dx, dshift, dscale, dx0, dshift0, dscale0;

  NormRun(const NormCase& c, const OpsUnderTest& backend)
      : x(random_rows(c.layout, c.T, c.D, 1, DType::kF32, 1, 0.5)),
        dy(random_rows(c.layout, c.T, c.D, 2, c.compute)),
        // An affine vector is dense; a segment without rows comes last.
        shift(random_rows(c.affine ? Layout::kDense : c.layout, c.num_segments() + !c.affine, c.D, 3)),
        scale(random_rows(c.affine ? Layout::kDense : c.layout, c.num_segments() + !c.affine, c.D, 4)),
        segment(segments_of(c.T, c.num_segments(), c.lengths)),
        y(nan_rows(c.layout, c.T, c.D, c.compute)),
        stats(nan_rows(c.layout, c.T, 2)),
        dx(random_rows(c.layout, c.T, c.D, 5)),
        dshift(random_rows(c.affine ? Layout::kDense : c.layout, shift.rows(), c.D, 6)),
        dscale(random_rows(c.affine ? Layout::kDense : c.layout, shift.rows(), c.D, 7)),
        dx0(clone(dx)),
        dshift0(clone(dshift)),
        dscale0(clone(dscale)) {
    backend.run([&](Placed& p) {
      if (c.affine) {
        const auto vector = [&](const Tensor& row) { return row.reshape({c.D}); };
        p.ops().layer_norm(p.out(y), p.out(stats), p.in(x), p.in(vector(scale)), p.in(vector(shift)), kEps);
        p.ops().layer_norm_backward(p.out(dx), p.out(vector(dscale)), p.out(vector(dshift)), p.in(dy),
                                    p.in(x), p.out(stats), p.in(vector(scale)));
      } else {
        p.ops().layer_norm_modulate(p.out(y), p.out(stats), p.in(x), p.in(shift), p.in(scale), p.in(segment),
                                    kEps);
        p.ops().layer_norm_modulate_backward(p.out(dx), p.out(dshift), p.out(dscale), p.in(dy), p.in(x),
                                             p.out(stats), p.in(scale), p.in(segment));
      }
    });
  }
};

void check_sums(const NormCase& c, const NormRun& run, const std::vector<NormRow>& rows, bool of_scale) {
  const Tensor& before = of_scale ? run.dscale0 : run.dshift0;
  const int64_t S = before.rows();
  std::vector<double> total(size_t(S * c.D)), mass(size_t(S * c.D)), drift(size_t(S * c.D));
  for (int64_t s = 0; s < S; ++s)
    for (int64_t i = 0; i < c.D; ++i) {
      total[size_t(s * c.D + i)] = element(before, s, i);
      mass[size_t(s * c.D + i)] = std::abs(element(before, s, i));
    }
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t i = 0; i < c.D; ++i) {
      const size_t at = size_t(segment_at(run.segment, t) * c.D + i);
      const double n = of_scale ? rows[size_t(t)].normal[size_t(i)] : 1, d = element(run.dy, t, i);
      total[at] += d * n;
      mass[at] += std::abs(d * n);
      if (of_scale) drift[at] += std::abs(d) * rows[size_t(t)].bound[size_t(i)];
    }
  EXPECT_TRUE(all_within(
      of_scale ? run.dscale : run.dshift, [&](int64_t s, int64_t i) { return total[size_t(s * c.D + i)]; },
      [&](int64_t s, int64_t i) {
        const size_t at = size_t(s * c.D + i);
        return dot_bound(mass[at], total[at], c.T + 1) + drift[at];
      }));
}

void check_case(const NormCase& c, const OpsUnderTest& backend) {
  SCOPED_TRACE(c.name());
  const NormRun run(c, backend);
  const auto factor = [&](int64_t t, int64_t i) {
    return element(run.scale, segment_at(run.segment, t), i) + (c.affine ? 0 : 1);
  };
  const auto g = [&](int64_t t, int64_t i) { return element(run.dy, t, i) * factor(t, i); };
  std::vector<NormRow> rows;
  for (int64_t t = 0; t < c.T; ++t) {
    rows.emplace_back(run.x, t);
    rows.back().project([&](int64_t i) { return g(t, i); });
  }
  const auto normal = [&](int64_t t, int64_t i) { return rows[size_t(t)].normal[size_t(i)]; };
  const auto off = [&](int64_t t, int64_t i) { return rows[size_t(t)].bound[size_t(i)]; };
  const auto added = [&](int64_t t, int64_t i) { return element(run.shift, segment_at(run.segment, t), i); };
  EXPECT_TRUE(all_within(
      run.y, [&](int64_t t, int64_t i) { return normal(t, i) * factor(t, i) + added(t, i); },
      [&](int64_t t, int64_t i) {
        const double n = normal(t, i) * factor(t, i), s = added(t, i);
        return off(t, i) * std::abs(factor(t, i)) + 4 * kUnitF32 * (std::abs(n) + std::abs(s)) +
               store_bound(c.compute, n + s);
      }));
  const double root = std::sqrt(double(c.D));
  EXPECT_TRUE(all_within(
      run.stats, [&](int64_t t, int64_t i) { return i == 0 ? rows[size_t(t)].mean : rows[size_t(t)].rstd; },
      [&](int64_t t, int64_t i) {
        const NormRow& r = rows[size_t(t)];
        return kUnitF32 * (i == 0 ? (4 + root) * r.most : r.rstd * (8 + 2 * root + 8 * r.most * r.rstd));
      }));
  EXPECT_TRUE(all_within(
      run.dx,
      [&](int64_t t, int64_t i) {
        const NormRow& r = rows[size_t(t)];
        return element(run.dx0, t, i) + r.rstd * (g(t, i) - r.mean_g - normal(t, i) * r.slope);
      },
      [&](int64_t t, int64_t i) {
        const NormRow& r = rows[size_t(t)];
        const double n = std::abs(normal(t, i)), d = std::abs(g(t, i)), size = d + r.mass * (1 + n);
        return r.rstd * (r.drift * (1 + n) + r.mass * off(t, i) + kUnitF32 * (8 + 4 * root) * size) +
               kUnitF32 * std::abs(element(run.dx0, t, i)) + off(t, i) * r.rstd * d;
      }));
  for (const bool of_scale : {false, true}) check_sums(c, run, rows, of_scale);
}

}  // namespace

void check_layer_norms(const OpsUnderTest& backend) {
  for (const DType compute : kTypes)
    for (const int64_t T : kRowCounts)
      for (const int64_t D : kWidths)
        for (const Layout layout : kLayouts) {
          for (const Lengths lengths : kLengths)
            if (backend.takes_next()) check_case({compute, T, D, layout, false, lengths}, backend);
          if (backend.takes_next()) check_case({compute, T, D, layout, true, Lengths::kEven}, backend);
        }
  // Rows that several warps share, up to the widest that a block of a GPU holds, and beyond.
  check_case({DType::kF32, 3, 8200, Layout::kDense, true, Lengths::kEven}, backend);
  check_case({DType::kBF16, 7, 8211, Layout::kOdd, false, Lengths::kUneven}, backend);
  check_case({DType::kBF16, 2, 8192, Layout::kDense, false, Lengths::kEven}, backend);
  for (const int64_t D : {520, 1027})
    for (const Layout layout : kLayouts) {
      check_case({DType::kF32, 40, D, layout, false, Lengths::kUneven}, backend);
      check_case({DType::kBF16, 3, D, layout, true, Lengths::kEven}, backend);
    }
}

}  // namespace zoetrope::test
