// Flow-matching and per-row operators of the CPU backend against the reference in double.
#include <gtest/gtest.h>

#include "model/ops/ops.h"
#include "tests/support/close.h"
#include "tests/support/op_tensors.h"
#include "tests/support/reference_ops.h"

namespace zoetrope {
namespace {

using test::all_within;
using test::element;
using test::kUnitF32;
using test::Output;
using test::random_matrix;

struct Backend {
  ThreadPool pool{2};
  Arena workspace{16 << 20, Device::kCpu, "test"};
  std::unique_ptr<Ops> ops = make_ops(Device::kCpu, pool, workspace);
};

Tensor in_double(const Tensor& x) {
  const Tensor y = Tensor::empty({x.rows(), x.row_size()}, DType::kF64);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) y.row<double>(t)[c] = element(x, t, c);
  return y;
}

TEST(CpuFlow, InputsAndTargets) {
  const Backend backend;
  const test::ReferenceOps reference;
  for (const DType out : {DType::kF32, DType::kBF16})
    for (const int64_t T : {0, 1, 41})
      for (const int64_t P : {3, 48, 195})
        for (const int kind : {0, 1, 2})
          for (const bool velocity : {false, true}) {
            SCOPED_TRACE(join_message("T ", T, " P ", P, " ", name_of(out), " tokens ", kind,
                                      velocity ? " v" : " x0"));
            Tensor tokens;
            if (kind == 1) tokens = random_matrix(T, P, 3);
            if (kind == 2) {
              tokens = Tensor::empty({T, P}, DType::kU8);
              for (int64_t i = 0; i < tokens.size(); ++i) tokens.data<uint8_t>()[i] = uint8_t(i * 37);
            }
            const std::vector<FlowRows> rows{{0, T / 3, 0.2, {5, Purpose::kNoise, 7, 100}},
                                             {T / 3, T / 3, 0.5, {}},
                                             {T / 3, T, 0.9, {5, Purpose::kNoise, 8, 0}}};
            const Output features(T, P, out), target(T, P);
            const Tensor want = Tensor::empty({T, P}, DType::kF64), aim = Tensor::empty({T, P}, DType::kF64);
            backend.ops->flow_inputs(features.view(), target.view(), tokens, rows, 3, velocity);
            reference.flow_inputs(want, aim, tokens, rows, 3, velocity);
            // Four roundings of values up to 1 + |eps|; eps itself follows the same formula within a few
            // units.
            const auto bound = [&](int64_t, int64_t) { return 32 * kUnitF32 * 6; };
            EXPECT_TRUE(all_within(
                features.view(), [&](int64_t t, int64_t c) { return element(want, t, c); },
                [&](int64_t t, int64_t c) {
                  return bound(t, c) + test::store_bound(out, element(want, t, c));
                }));
            EXPECT_TRUE(all_within(
                target.view(), [&](int64_t t, int64_t c) { return element(aim, t, c); }, bound));
            EXPECT_TRUE(features.guards_intact() && target.guards_intact());
          }
}

TEST(CpuFlow, VelocityAndGuidedStep) {
  const Backend backend;
  const test::ReferenceOps reference;
  for (const int64_t T : {0, 1, 70})
    for (const int64_t P : {3, 48, 195})
      for (const double divisor : {0.0, 0.05}) {
        const Tensor x = random_matrix(T, P, 1), prediction = random_matrix(T, P, 2),
                     other = random_matrix(T, P, 3);
        const Output velocity(T, P);
        const Tensor want = Tensor::empty({T, P}, DType::kF64), moved = in_double(x);
        backend.ops->flow_velocity(velocity.view(), x, prediction, 3, divisor);
        reference.flow_velocity(want, in_double(x), in_double(prediction), 3, divisor);
        EXPECT_TRUE(all_within(
            velocity.view(), [&](int64_t t, int64_t c) { return element(want, t, c); },
            [&](int64_t t, int64_t c) { return 8 * kUnitF32 * std::abs(element(want, t, c)); }));
        backend.ops->guided_step(x, prediction, other, 3.0, -0.1);
        reference.guided_step(moved, in_double(prediction), in_double(other), 3.0, -0.1);
        EXPECT_TRUE(all_within(
            x, [&](int64_t t, int64_t c) { return element(moved, t, c); },
            [&](int64_t t, int64_t c) {
              return 8 * kUnitF32 *
                     (std::abs(element(moved, t, c)) + std::abs(element(prediction, t, c)) +
                      std::abs(element(other, t, c)));
            }));
        EXPECT_TRUE(velocity.guards_intact());
      }
}

TEST(CpuFlow, AddRow) {
  const Backend backend;
  for (const int64_t S : {0, 1, 5, 200})
    for (const int64_t N : {1, 33, 96}) {
      const Tensor x = random_matrix(S, N, 1, DType::kF32, 1, 0, 4), row = test::random_vector(N, 2);
      const Output y(S, N);
      backend.ops->add_row(y.view(), x, row);
      EXPECT_TRUE(all_within(
          y.view(), [&](int64_t s, int64_t c) { return element(x, s, c) + element(row, c, 0); },
          [&](int64_t s, int64_t c) { return kUnitF32 * std::abs(element(x, s, c) + element(row, c, 0)); }));
      const Tensor drow = test::random_vector(N, 3), before = test::clone(drow);
      backend.ops->add_row_backward(drow, x);
      const auto column = [&](int64_t c, bool mass) {
        double total = mass ? std::abs(element(before, c, 0)) : element(before, c, 0);
        for (int64_t s = 0; s < S; ++s) total += mass ? std::abs(element(x, s, c)) : element(x, s, c);
        return total;
      };
      EXPECT_TRUE(all_within(
          drow, [&](int64_t c, int64_t) { return column(c, false); },
          [&](int64_t c, int64_t) { return test::dot_bound(column(c, true), column(c, false), S + 1); }));
      EXPECT_TRUE(y.guards_intact());
    }
}

}  // namespace
}  // namespace zoetrope
