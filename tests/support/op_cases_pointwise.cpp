// Activations, gated residual additions, conversions, zeroing, rows added to all rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/close.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

double gelu(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double activated(double x, Activation a) {
  return a == Activation::kNone ? x : a == Activation::kGelu ? gelu(x) : silu(x);
}
double slope(double x, Activation a) {
  if (a == Activation::kNone) return 1;
  const double h = 1e-5;  // central difference: error h^2 f''' / 6, about 1e-10
  return (activated(x + h, a) - activated(x - h, a)) / (2 * h);
}
/// How much the rounding of the exponential's argument is amplified: its size.
double argument(double x, Activation a) {
  return a == Activation::kGelu ? 2 * std::sqrt(2 / M_PI) * std::abs(x + 0.044715 * x * x * x) : std::abs(x);
}

/// Types of x and dy, of y and dx; in place: dx lies where dy does.
void check_activation(Activation a, DType in, DType out, int64_t T, int64_t D, Layout layout, bool in_place,
                      const OpsUnderTest& backend) {
  SCOPED_TRACE(join_message("activation ", int(a), " ", zoetrope::name_of(in), " to ", zoetrope::name_of(out),
                            " T ", T, " D ", D, " ", name_of(layout), in_place ? " in place" : ""));
  const Tensor x = random_rows(layout, T, D, 1, in, 3), dy = random_rows(layout, T, D, 2, out);
  // Far beyond where the exponential over- and underflows.
  if (T > 0) set_element(x, 0, 0, -300);
  if (T > 1) set_element(x, 1, 0, 300);
  const Tensor y = nan_rows(layout, T, D, out), dx = in_place ? dy : nan_rows(layout, T, D, out),
               dy0 = clone(dy);
  backend.run([&](Placed& p) {
    p.ops().activate(p.out(y), p.in(x), a);
    p.ops().activate_backward(p.out(dx), p.in(dy), p.in(x), a);
  });
  EXPECT_TRUE(all_within(
      y, [&](int64_t t, int64_t c) { return activated(element(x, t, c), a); },
      [&](int64_t t, int64_t c) {
        const double v = element(x, t, c), ref = std::abs(activated(v, a));
        return 8 * kUnitF32 * ref * (1 + argument(v, a)) + store_bound(out, ref) + 1e-30;
      }));
  EXPECT_TRUE(all_within(
      dx, [&](int64_t t, int64_t c) { return element(dy0, t, c) * slope(element(x, t, c), a); },
      [&](int64_t t, int64_t c) {
        const double v = element(x, t, c), d = std::abs(element(dy0, t, c));
        return d * (8 * kUnitF32 * (1 + argument(v, a)) + 1e-9) + store_bound(out, d * slope(v, a));
      }));
}

struct GateCase {
  DType compute;
  int64_t T, D;
  Layout layout;
  bool gated, in_place;  // in place: y lies where x does
  Lengths lengths;
};

void check_gate(const GateCase& c, const OpsUnderTest& backend) {
  SCOPED_TRACE(join_message("T ", c.T, " D ", c.D, " ", zoetrope::name_of(c.compute), " ", name_of(c.layout),
                            c.gated ? " gated" : "", c.in_place ? " in place" : "",
                            c.lengths == Lengths::kEven ? " even" : " uneven"));
  const int64_t used = std::min<int64_t>(c.T, 7), S = used + 1;  // the last segment has no rows
  const Tensor x = random_rows(c.layout, c.T, c.D, 1), branch = random_rows(c.layout, c.T, c.D, 2, c.compute);
  const Tensor segment = segments_of(c.T, used, c.lengths), dy = random_rows(c.layout, c.T, c.D, 4);
  const Tensor gate = c.gated ? random_rows(c.layout, S, c.D, 3) : Tensor();
  const Tensor y = c.in_place ? x : nan_rows(c.layout, c.T, c.D), x0 = clone(x);
  const Tensor dbranch = nan_rows(c.layout, c.T, c.D, c.compute);
  const Tensor dgate = random_rows(c.layout, S, c.D, 5), dgate0 = clone(dgate);
  backend.run([&](Placed& p) {
    p.ops().gate_residual(p.out(y), p.in(x), p.in(branch), p.in(gate), p.in(segment));
    p.ops().gate_residual_backward(p.out(dbranch), c.gated ? p.out(dgate) : Tensor(), p.in(dy), p.in(branch),
                                   p.in(gate), p.in(segment));
  });
  const auto gate_at = [&](int64_t t, int64_t i) {
    return c.gated ? element(gate, segment_at(segment, t), i) : 1.0;
  };
  EXPECT_TRUE(all_within(
      y, [&](int64_t t, int64_t i) { return element(x0, t, i) + gate_at(t, i) * element(branch, t, i); },
      [&](int64_t t, int64_t i) {
        return 2 * kUnitF32 * (std::abs(element(x0, t, i)) + std::abs(gate_at(t, i) * element(branch, t, i)));
      }));
  EXPECT_TRUE(all_within(
      dbranch, [&](int64_t t, int64_t i) { return gate_at(t, i) * element(dy, t, i); },
      [&](int64_t t, int64_t i) {
        const double ref = std::abs(gate_at(t, i) * element(dy, t, i));
        return 8 * kUnitF32 * ref + store_bound(c.compute, ref);
      }));
  const auto column = [&](int64_t s, int64_t i, bool bound) {
    double total = element(dgate0, s, i), mass = std::abs(total);
    for (int64_t t = 0; t < c.T; ++t) {
      if (!c.gated || segment_at(segment, t) != s) continue;
      total += element(branch, t, i) * element(dy, t, i);
      mass += std::abs(element(branch, t, i) * element(dy, t, i));
    }
    return bound ? dot_bound(mass, total, c.T + 1) : total;
  };
  EXPECT_TRUE(all_within(
      dgate, [&](int64_t s, int64_t i) { return column(s, i, false); },
      [&](int64_t s, int64_t i) { return column(s, i, true); }));
}

}  // namespace

void check_activations(const OpsUnderTest& backend) {
  using Shape = std::pair<int64_t, int64_t>;
  for (const Activation a : {Activation::kNone, Activation::kGelu, Activation::kSilu})
    for (const DType in : kTypes)
      for (const DType out : kTypes)
        for (const auto& [T, D] : {Shape{0, 33}, {1, 1}, {2, 31}, {37, 33}, {33, 32}, {3, 257}, {127, 128}})
          for (const Layout layout : kLayouts) {
            for (const bool in_place : {false, true})
              if (backend.takes_next()) check_activation(a, in, out, T, D, layout, in_place, backend);
          }
}

void check_gate_residual(const OpsUnderTest& backend) {
  for (const DType compute : kTypes)
    for (const int64_t T : kRowCounts)
      for (const int64_t D : kWidths)
        for (const Layout layout : kLayouts) {
          for (const Lengths lengths : kLengths)
            if (backend.takes_next()) check_gate({compute, T, D, layout, true, false, lengths}, backend);
          for (const bool in_place : {false, true})
            if (backend.takes_next())
              check_gate({compute, T, D, layout, false, in_place, Lengths::kEven}, backend);
        }
}

void check_convert(const OpsUnderTest& backend) {
  for (const int64_t D : kWidths)
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(join_message("D ", D, " ", name_of(layout)));
      const Tensor x = random_rows(layout, 3, D, 1);
      x.row<float>(0)[0] = std::numeric_limits<float>::quiet_NaN();
      x.row<float>(1)[0] = std::numeric_limits<float>::infinity();
      x.row<float>(2)[0] =
          std::bit_cast<float>(0x7fffffffu);  // a NaN whose rounding would overflow the exponent
      const Tensor y = nan_rows(layout, 3, D, DType::kBF16), back = nan_rows(layout, 3, D);
      backend.run([&](Placed& p) {
        p.ops().convert(p.out(y), p.in(x));
        p.ops().convert(p.out(back), p.out(y));
      });
      for (int64_t t = 0; t < 3; ++t)
        for (int64_t c = 0; c < D; ++c) {
          EXPECT_EQ(y.row<bf16>(t)[c].bits, bf16(x.row<float>(t)[c]).bits);
          EXPECT_EQ(std::bit_cast<uint32_t>(back.row<float>(t)[c]), uint32_t(y.row<bf16>(t)[c].bits) << 16);
        }
    }
}

void check_zero(const OpsUnderTest& backend) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kU8})
    for (const int64_t T : kRowCounts)
      for (const int64_t D : {1, 33, 128}) {
        SCOPED_TRACE(join_message("T ", T, " D ", D, " ", zoetrope::name_of(dtype)));
        for (const int64_t stride : {D, D + 3}) {
          const Tensor whole = Tensor::empty({T, stride}, dtype), x = whole.columns(0, D);
          std::fill_n(static_cast<char*>(whole.raw()), whole.bytes(), '\x2a');
          backend.run([&](Placed& p) { p.ops().zero(p.out(x)); });
          EXPECT_TRUE(all_within(
              x, [](int64_t, int64_t) { return 0.0; }, [](int64_t, int64_t) { return 0.0; }));
        }
      }
}

void check_add_row(const OpsUnderTest& backend) {
  for (const int64_t S : {0, 1, 5, 200})
    for (const int64_t N : {1, 33, 96, 257})
      for (const Layout layout : kLayouts) {
        SCOPED_TRACE(join_message("S ", S, " N ", N, " ", name_of(layout)));
        const Tensor x = random_rows(layout, S, N, 1), row = random_vector(N, 2), y = nan_rows(layout, S, N);
        const Tensor drow = random_vector(N, 3), before = clone(drow);
        backend.run([&](Placed& p) {
          p.ops().add_row(p.out(y), p.in(x), p.in(row));
          p.ops().add_row_backward(p.out(drow), p.in(x));
        });
        EXPECT_TRUE(all_within(
            y, [&](int64_t s, int64_t c) { return element(x, s, c) + element(row, c, 0); },
            [&](int64_t s, int64_t c) {
              return kUnitF32 * std::abs(element(x, s, c) + element(row, c, 0));
            }));
        const auto column = [&](int64_t c, bool mass) {
          double total = mass ? std::abs(element(before, c, 0)) : element(before, c, 0);
          for (int64_t s = 0; s < S; ++s) total += mass ? std::abs(element(x, s, c)) : element(x, s, c);
          return total;
        };
        EXPECT_TRUE(all_within(
            drow, [&](int64_t c, int64_t) { return column(c, false); },
            [&](int64_t c, int64_t) { return dot_bound(column(c, true), column(c, false), S + 1); }));
      }
}

}  // namespace zoetrope::test
