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
TEST(CudaProducts, WrongShapesAndTypesAreErrors) { test::check_product_refusals(CudaUnderTest()); }

}  // namespace
}  // namespace zoetrope
