// Linear layers of the CUDA backend over the case table that all backends share. The library of products is a
// stand-in here, which refuses what the real one doesn't promise to take.
#include <gtest/gtest.h>

#include "tests/support/cuda_under_test.h"
#include "tests/support/product_cases.h"

namespace zoetrope {
namespace {

using test::CudaUnderTest;

TEST(CudaProducts, LinearInF32) { test::check_linear(CudaUnderTest(), DType::kF32); }
TEST(CudaProducts, LinearInBf16) { test::check_linear(CudaUnderTest(), DType::kBF16); }
TEST(CudaProducts, WeightGradientInF32) { test::check_weight_gradient(CudaUnderTest(), DType::kF32); }
TEST(CudaProducts, WeightGradientInBf16) { test::check_weight_gradient(CudaUnderTest(), DType::kBF16); }
// Small whole numbers: every sum is exact. Biases lie in the flat buffer of parameters, in any place.
TEST(CudaProducts, BiasesLieAnywhere) {
  constexpr int64_t T = 7, N = 24, K = 16;
  const Tensor x = Tensor::empty({T, K}, DType::kF32), w = Tensor::empty({N, K}, DType::kF32),
               biases = Tensor::empty({4 * N}, DType::kF32);
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = float(i % 5);
  for (int64_t i = 0; i < w.size(); ++i) w.data<float>()[i] = float(i % 7);
  for (int64_t i = 0; i < biases.size(); ++i) biases.data<float>()[i] = float(i);
  CudaUnderTest().run([&](test::Placed& p) {
    Weight weight;
    weight.value = p.in(w);
    const Tensor input = p.in(x), placed = p.in(biases);
    for (const int64_t begin : {0, 4, 1, 2, 64}) {
      SCOPED_TRACE(join_message("bias from element ", begin));
      const Tensor out = Tensor::zeros({T, N}, DType::kF32, Device::kCuda);
      p.ops().linear(out, input, weight, placed.slice_rows(begin, begin + N));
      const Tensor y = to_host(out);
      for (int64_t t = 0; t < T; ++t)
        for (int64_t n = 0; n < N; ++n) {
          float expected = float(begin + n);
          for (int64_t k = 0; k < K; ++k) expected += x.row<float>(t)[k] * w.row<float>(n)[k];
          ASSERT_EQ(y.row<float>(t)[n], expected) << t << ", " << n;
        }
    }
  });
}
TEST(CudaProducts, WrongShapesAndTypesAreErrors) { test::check_product_refusals(CudaUnderTest()); }

}  // namespace
}  // namespace zoetrope
