// Every operator of the CUDA backend but attention and products: the same sources as on a GPU, executed
// thread for thread in three orders, over the case tables that all backends share.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zoetrope
