// Flow matching: noised inputs and targets, velocities, the sampler's step; against the operators in double.
#include "tests/support/close.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"
#include "tests/support/reference_ops.h"

namespace zoetrope::test {
namespace {

Tensor in_double(const Tensor& x) {
  const Tensor y = Tensor::empty({x.rows(), x.row_size()}, DType::kF64);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) y.row<double>(t)[c] = element(x, t, c);
  return y;
}

enum class Tokens { kNone, kF32, kU8 };

Tensor make_tokens(Tokens kind, Layout layout, int64_t T, int64_t P) {
  if (kind == Tokens::kNone) return Tensor();
  if (kind == Tokens::kF32) return random_rows(layout, T, P, 3);
  const Tensor tokens = Tensor::empty({T, P}, DType::kU8);
  for (int64_t i = 0; i < tokens.size(); ++i) tokens.data<uint8_t>()[i] = uint8_t(i * 37);
  return tokens;
}

struct FlowCase {
  DType out;
  int64_t T, P, segments;
  Layout layout;
  Tokens tokens;
  bool velocity, with_target;
};

/// Segments of growing lengths, one of them empty, with noise levels from 0.2 to 1.
std::vector<FlowRows> rows_of_segments(int64_t T, int64_t segments) {
  std::vector<FlowRows> rows;
  for (int64_t s = 0; s < segments; ++s) {
    const int64_t begin = rows.empty() ? 0 : rows.back().row_end,
                  end = T * (s + 1) * (s + 1) / (segments * segments);
    rows.push_back({begin,
                    end,
                    s + 1 == segments ? 1.0 : 0.2 + 0.6 * double(s) / double(segments),
                    {5, Purpose::kNoise, (int64_t(1) << 33) + s, 100 * s}});
    if (s == 0) rows.push_back({end, end, 0.5, {}});
  }
  return rows;
}

void check_inputs(const FlowCase& c, const OpsUnderTest& backend) {
  SCOPED_TRACE(join_message("T ", c.T, " P ", c.P, " ", zoetrope::name_of(c.out), " tokens ", int(c.tokens),
                            c.velocity ? " v " : " x0 ", name_of(c.layout), " segments ", c.segments));
  const Tensor tokens = make_tokens(c.tokens, c.layout, c.T, c.P);
  const std::vector<FlowRows> rows = rows_of_segments(c.T, c.segments);
  const Tensor features = nan_rows(c.layout, c.T, c.P, c.out);
  const Tensor target = c.with_target ? nan_rows(c.layout, c.T, c.P) : Tensor();
  const Tensor want = Tensor::empty({c.T, c.P}, DType::kF64), aim = Tensor::empty({c.T, c.P}, DType::kF64);
  backend.run([&](Placed& p) {
    p.ops().flow_inputs(p.out(features), p.out(target), p.in(tokens), rows, 3, c.velocity);
  });
  ReferenceOps().flow_inputs(want, aim, tokens, rows, 3, c.velocity);
  // Four roundings of values up to 1 + |eps|; eps itself follows the same formula within a few units.
  const auto bound = [&](int64_t, int64_t) { return 32 * kUnitF32 * 6; };
  EXPECT_TRUE(all_within(
      features, [&](int64_t t, int64_t i) { return element(want, t, i); },
      [&](int64_t t, int64_t i) { return bound(t, i) + store_bound(c.out, element(want, t, i)); }));
  if (!c.with_target) return;
  EXPECT_TRUE(all_within(
      target, [&](int64_t t, int64_t i) { return element(aim, t, i); }, bound));
}

}  // namespace

void check_flow_inputs(const OpsUnderTest& backend) {
  for (const DType out : kTypes)
    for (const int64_t T : {0, 1, 41})
      for (const int64_t P : {3, 48, 195})
        for (const Layout layout : kLayouts)
          for (const Tokens tokens : {Tokens::kNone, Tokens::kF32, Tokens::kU8}) {
            for (const bool velocity : {false, true})
              if (backend.takes_next()) check_inputs({out, T, P, 3, layout, tokens, velocity, true}, backend);
            if (backend.takes_next()) check_inputs({out, T, P, 3, layout, tokens, true, false}, backend);
          }
  // More segments than travel with one launch.
  for (const int64_t segments : {63, 64, 65, 150})
    check_inputs({DType::kF32, 300, 12, segments, Layout::kDense, Tokens::kF32, true, true}, backend);
}

void check_flow_steps(const OpsUnderTest& backend) {
  const ReferenceOps reference;
  for (const int64_t T : {0, 1, 70})
    for (const int64_t P : {3, 48, 195})
      for (const Layout layout : kLayouts)
        for (const double divisor : {0.0, 0.05}) {
          SCOPED_TRACE(join_message("T ", T, " P ", P, " ", name_of(layout), " divisor ", divisor));
          const Tensor x = random_rows(layout, T, P, 1), prediction = random_rows(layout, T, P, 2);
          const Tensor other = random_rows(layout, T, P, 3), velocity = nan_rows(layout, T, P);
          const Tensor want = Tensor::empty({T, P}, DType::kF64), moved = in_double(x);
          reference.flow_velocity(want, moved, in_double(prediction), 3, divisor);
          reference.guided_step(moved, in_double(prediction), in_double(other), 3.0, -0.1);
          backend.run([&](Placed& p) {
            p.ops().flow_velocity(p.out(velocity), p.in(x), p.in(prediction), 3, divisor);
          });
          backend.run(
              [&](Placed& p) { p.ops().guided_step(p.out(x), p.in(prediction), p.in(other), 3.0, -0.1); });
          EXPECT_TRUE(all_within(
              velocity, [&](int64_t t, int64_t c) { return element(want, t, c); },
              [&](int64_t t, int64_t c) { return 8 * kUnitF32 * std::abs(element(want, t, c)); }));
          EXPECT_TRUE(all_within(
              x, [&](int64_t t, int64_t c) { return element(moved, t, c); },
              [&](int64_t t, int64_t c) {
                return 8 * kUnitF32 *
                       (std::abs(element(moved, t, c)) + std::abs(element(prediction, t, c)) +
                        std::abs(element(other, t, c)));
              }));
        }
}

}  // namespace zoetrope::test
