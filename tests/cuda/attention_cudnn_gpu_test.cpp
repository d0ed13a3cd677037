// Attention by cuDNN against softmax in double, through the operators alone: on a GPU by cuDNN's own plans,
// on the emulated device by the stand-in that attention_cudnn_test.cpp looks into.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/attention_checks.h"
#include "tests/support/cuda_under_test.h"

namespace zoetrope {
namespace {

using test::AttentionCase;

constexpr OpsSettings kReproducible{AttentionSource::kCudnn, false}, kAnyBits{AttentionSource::kCudnn, true};

/// The cases that cuDNN serves: rows on 16 bytes.
std::vector<AttentionCase> served_cases() {
  std::vector<AttentionCase> all = test::attention_cases();
  std::erase_if(all, [](const AttentionCase& c) { return !c.aligned; });
  return all;
}

/// Says which passes own kernels had to do: what they compute is checked elsewhere.
void check(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  const std::string log = testing::internal::GetCapturedStderr();
  std::fputs(log.c_str(), stderr);
  const size_t at = log.find("own kernels where cuDNN has no plan");
  if (at != std::string::npos) std::printf("left out: %s\n", log.substr(at, log.find('\n', at) - at).c_str());
}

TEST(CudnnOnDevice, ForwardEqualsSoftmaxInDouble) {
  check([] { test::check_attention_forward(test::CudaUnderTest(1, {}, kReproducible), served_cases()); });
}
TEST(CudnnOnDevice, BackwardWithReproducibleBitsEqualsGradientInDouble) {
  check([] {
    test::check_attention_backward(test::CudaUnderTest(1, {}, kReproducible), served_cases(), {},
                                   DType::kBF16);
  });
}
TEST(CudnnOnDevice, BackwardWithAnyBitsEqualsGradientInDouble) {
  check([] {
    test::check_attention_backward(test::CudaUnderTest(1, {}, kAnyBits), served_cases(), {}, DType::kBF16);
  });
}
TEST(CudnnOnDevice, KeyRangesMergeToTheWhole) {
  check([] { test::check_attention_merge(test::CudaUnderTest(1, {}, kReproducible)); });
}

}  // namespace
}  // namespace zoetrope
