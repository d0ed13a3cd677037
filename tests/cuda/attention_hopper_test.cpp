// The attention kernel for compute capability 9.0 against softmax in double. Emulated devices execute every
// thread and count what it does; GPUs of another capability can't run it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "core/cuda_check.h"
#include "tests/cuda/attention_args.h"
#include "tests/support/cuda_under_test.h"

namespace zoetrope {
namespace {

using test::AttentionCase;

const test::AttentionForward hopper = test::forward_by(cuda::attention_hopper);

/// The shared table's cases for tensor cores, and some whose keys fill the stages several times.
std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> all;
  for (const AttentionCase& c : test::attention_cases())
    if (c.aligned) all.push_back(c);
  for (const int64_t K : {64, 128}) {
    all.push_back({1, K, {{0, 130, 0, 700}}, DType::kBF16, 2, true});
    all.push_back({2, K, {{5, 70, 3, 515}, {70, 80, 520, 1162}}, DType::kBF16, 1, true});
  }
  return all;
}

class CudaAttentionHopper : public testing::Test {
 protected:
  void SetUp() override {
    int device = 0, major = 0, minor = 0;
    ZT_CUDA(cudaGetDevice(&device));
    ZT_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    ZT_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (major != 9 || minor != 0)
      GTEST_SKIP() << "needs compute capability 9.0, this GPU has " << major << "." << minor;
    test::reset_kernel_work();
  }
  const test::CudaUnderTest backend_;
};

/// Where the device counts: warpgroup products alone, and no bank conflicts.
void expect_group_products() {
  const auto work = test::kernel_work();
  if (!work) return;
  EXPECT_GT(work->group_products, 0u);
  EXPECT_GT(work->tile_copies, 0u);
  EXPECT_EQ(work->matrix_products, 0u);
  EXPECT_EQ(work->extra_wavefronts, 0u);
}

TEST_F(CudaAttentionHopper, EqualsSoftmaxInDouble) {
  for (const AttentionCase& c : cases()) {
    SCOPED_TRACE(test::name_of_case(c));
    test::reset_kernel_work();
    test::check_attention_forward(backend_, {c}, hopper);
    expect_group_products();
  }
}

TEST_F(CudaAttentionHopper, KeyRangesMergeToTheWhole) { test::check_attention_merge(backend_, hopper); }

TEST_F(CudaAttentionHopper, MoreItemsThanALaunchTakes) {
  std::vector<AttentionItem> items;
  for (int64_t i = 0, q = 0, kv = 0; i < cuda::ItemTiles::kMost + 6; ++i) {
    items.push_back({q, q + i % 4, kv, kv + i % 3});
    q += i % 4, kv += i % 3;
  }
  test::check_attention_forward(backend_, {{1, 64, items, DType::kBF16, 1, true}}, hopper);
}

TEST_F(CudaAttentionHopper, NoKeysAtAllGiveZeros) {
  const std::vector<AttentionItem> items{{0, 3, 0, 0}, {3, 5, 7, 7}};
  test::check_attention_forward(backend_, {{2, 128, items, DType::kBF16, 1, true}}, hopper);
}

TEST_F(CudaAttentionHopper, IsWhatTheOperatorTakes) {
  test::check_attention_forward(backend_, {{1, 64, {{0, 9, 0, 9}}, DType::kBF16, 1, true}});
  expect_group_products();
}

}  // namespace
}  // namespace zoetrope
