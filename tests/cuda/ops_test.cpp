// Every operator of the CUDA backend but attention and products: the same sources as on a GPU, executed
// thread for thread in three orders, over the case tables that all backends share.
#include <gtest/gtest.h>

#include <cmath>

#include "model/ops/cuda/column_sums.h"
#include "tests/support/close.h"
#include "tests/support/cuda_under_test.h"
#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::CudaUnderTest;

TEST(CudaOps, LayerNorms) { test::check_layer_norms(CudaUnderTest()); }
TEST(CudaOps, RmsNormRope) { test::check_rms_norm_rope(CudaUnderTest()); }
TEST(CudaOps, ActivationsAndTheirSlopes) { test::check_activations(CudaUnderTest()); }
TEST(CudaOps, GateResidual) { test::check_gate_residual(CudaUnderTest()); }
TEST(CudaOps, ConvertRoundsLikeBf16) { test::check_convert(CudaUnderTest()); }
TEST(CudaOps, Zero) { test::check_zero(CudaUnderTest()); }
TEST(CudaOps, AddSumSquaresSquaredError) { test::check_losses(CudaUnderTest()); }
TEST(CudaOps, AdamwUpdatesAndAverages) { test::check_adamw(CudaUnderTest()); }
TEST(CudaOps, LongInputs) { test::check_long_inputs(CudaUnderTest()); }
TEST(CudaOps, WrongShapesAndTypesAreErrors) { test::check_refusals(CudaUnderTest()); }
TEST(CudaOps, FlowInputsAndTargets) { test::check_flow_inputs(CudaUnderTest()); }
TEST(CudaOps, VelocityAndGuidedStep) { test::check_flow_steps(CudaUnderTest()); }
TEST(CudaOps, AddRow) { test::check_add_row(CudaUnderTest()); }

// The gradients of biases, whose rows are bf16 too.
TEST(CudaOps, ColumnSums) {
  const CudaUnderTest backend;
  for (const DType compute : test::kTypes)
    for (const int64_t T : {0, 1, 15, 17, 257})
      for (const int64_t N : {1, 33, 128, 2100})  // more than a block of 256 threads has
        for (const test::Layout layout : test::kLayouts) {
          SCOPED_TRACE(join_message("T ", T, " N ", N, " ", name_of(compute), " ", test::name_of(layout)));
          const Tensor x = test::random_rows(layout, T, N, 1, compute), sums = test::random_vector(N, 2);
          const Tensor before = test::clone(sums);
          backend.run([&](test::Placed& p) {
            cuda::add_column_sums(backend.workspace(), p.out(sums), p.in(x), p.ops().stream());
          });
          const auto column = [&](int64_t c, bool mass) {
            double total = mass ? std::abs(test::element(before, c, 0)) : test::element(before, c, 0);
            for (int64_t t = 0; t < T; ++t)
              total += mass ? std::abs(test::element(x, t, c)) : test::element(x, t, c);
            return total;
          };
          EXPECT_TRUE(test::all_within(
              sums, [&](int64_t c, int64_t) { return column(c, false); },
              [&](int64_t c, int64_t) { return test::dot_bound(column(c, true), column(c, false), T + 1); }));
        }
}

}  // namespace
}  // namespace zoetrope
