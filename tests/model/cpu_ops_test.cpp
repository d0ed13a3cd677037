// Every operator of the CPU backend but attention and products, over the case tables that all backends share,
// each call with one, two and three threads.
#include <gtest/gtest.h>

#include "tests/support/op_cases.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

/// The operators with one number of threads.
struct Backend {
  explicit Backend(int threads)
      : pool(threads),
        workspace(16 << 20, Device::kCpu, "test"),
        ops(make_ops(Device::kCpu, pool, workspace)) {}
  ThreadPool pool;
  Arena workspace;
  std::unique_ptr<Ops> ops;
};

class CpuUnderTest final : public test::OpsUnderTest {
 private:
  void for_each_order(const std::function<void(const Ops&, const std::string&)>& f) const override {
    f(*two_.ops, "2 threads");
    f(*one_.ops, "1 thread");
    f(*three_.ops, "3 threads");
  }

  Backend one_{1}, two_{2}, three_{3};
};

TEST(CpuOps, LayerNorms) { test::check_layer_norms(CpuUnderTest()); }
TEST(CpuOps, RmsNormRope) { test::check_rms_norm_rope(CpuUnderTest()); }
TEST(CpuOps, ActivationsAndTheirSlopes) { test::check_activations(CpuUnderTest()); }
TEST(CpuOps, GateResidual) { test::check_gate_residual(CpuUnderTest()); }
TEST(CpuOps, ConvertRoundsLikeBf16) { test::check_convert(CpuUnderTest()); }
TEST(CpuOps, Zero) { test::check_zero(CpuUnderTest()); }
TEST(CpuOps, AddSumSquaresSquaredError) { test::check_losses(CpuUnderTest()); }
TEST(CpuOps, AdamwUpdatesAndAverages) { test::check_adamw(CpuUnderTest()); }
TEST(CpuOps, LongInputs) { test::check_long_inputs(CpuUnderTest()); }
TEST(CpuOps, WrongShapesAndTypesAreErrors) {
  test::check_refusals(CpuUnderTest());
  const Backend backend(1);
  const Ops* ops = backend.ops.get();
  const Weight weight = test::make_weight(*ops, 8, 8, DType::kF32, 3);
  const Tensor a = test::random_matrix(4, 8, 1), b = test::random_matrix(4, 7, 2);
  EXPECT_THROW(ops->linear(a, b, weight, Tensor()), Error);
  const Tensor half = test::random_matrix(4, 8, 1, DType::kBF16);
  EXPECT_THROW(ops->linear(half, half, weight, Tensor()), Error) << "a weight that is not prepared for bf16";
}

TEST(CpuFlow, InputsAndTargets) { test::check_flow_inputs(CpuUnderTest()); }
TEST(CpuFlow, VelocityAndGuidedStep) { test::check_flow_steps(CpuUnderTest()); }
TEST(CpuFlow, AddRow) { test::check_add_row(CpuUnderTest()); }

}  // namespace
}  // namespace zoetrope
