// Attention of the CUDA backend against softmax in double: plain and mma.sync kernels, and the choice among
// all; attention_hopper_test.cpp has the kernel for compute capability 9.0. On emulated devices every thread
// is executed, and what the kernels do is counted.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cuda/attention_args.h"
#include "tests/support/attention_checks.h"
#include "tests/support/cuda_under_test.h"

namespace zoetrope {
namespace {

using cuda::AttentionArgs;
using cuda::AttentionKernel;
using cuda::Operand;
using test::AttentionCase;

bool is_short(const AttentionCase& c) {
  return std::all_of(c.items.begin(), c.items.end(),
                     [](const AttentionItem& i) { return i.q_end <= 120 && i.kv_end <= 120; });
}

/// The table's cases that run on tensor cores, or those that don't. bf16 differs from f32 on the plain
/// kernels only in how rows are loaded and stored: short cases tell.
std::vector<AttentionCase> cases_on(AttentionKernel kernel) {
  std::vector<AttentionCase> chosen;
  for (const AttentionCase& c : test::attention_cases())
    if (kernel == AttentionKernel::kTensorCores ? c.aligned
                                                : !c.aligned && (c.compute == DType::kF32 || is_short(c)))
      chosen.push_back(c);
  return chosen;
}

/// Where the device counts: products on tensor cores, if on any, without bank conflicts.
void expect_kernel_work(AttentionKernel kernel) {
  const auto work = test::kernel_work();
  if (!work) return;
  EXPECT_EQ(work->matrix_products > 0, kernel == AttentionKernel::kTensorCores);
  if (kernel == AttentionKernel::kTensorCores) { EXPECT_EQ(work->extra_wavefronts, 0u) << "bank conflicts"; }
}

TEST(CudaAttention, PlainForwardEqualsSoftmaxInDouble) {
  test::reset_kernel_work();
  test::check_attention_forward(test::CudaUnderTest(), cases_on(AttentionKernel::kPlain));
  expect_kernel_work(AttentionKernel::kPlain);
}

TEST(CudaAttention, PlainBackwardEqualsGradientInDouble) {
  test::reset_kernel_work();
  test::check_attention_backward(test::CudaUnderTest(), cases_on(AttentionKernel::kPlain));
  expect_kernel_work(AttentionKernel::kPlain);
}

TEST(CudaAttention, TensorCoreForwardEqualsSoftmaxInDouble) {
  for (const AttentionCase& c : cases_on(AttentionKernel::kTensorCores)) {
    test::reset_kernel_work();
    test::check_attention_forward(test::CudaUnderTest(), {c}, test::forward_by(cuda::attention_tensor));
    SCOPED_TRACE(test::name_of_case(c));
    expect_kernel_work(AttentionKernel::kTensorCores);
  }
}

TEST(CudaAttention, TensorCoreBackwardEqualsGradientInDouble) {
  for (const AttentionCase& c : cases_on(AttentionKernel::kTensorCores)) {
    test::reset_kernel_work();
    test::check_attention_backward(test::CudaUnderTest(), {c});
    SCOPED_TRACE(test::name_of_case(c));
    expect_kernel_work(AttentionKernel::kTensorCores);
  }
}

TEST(CudaAttention, BackwardTakesLessSharedMemoryWhereThereIsLittle) {
  const auto operand = test::operand_of;
  std::vector<AttentionCase> cases = cases_on(AttentionKernel::kTensorCores);
  std::erase_if(cases, [](const AttentionCase& c) { return c.head_width != 128; });
  test::check_attention_backward(
      test::CudaUnderTest(), cases,
      [&](const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
          const Tensor& k, const Tensor& v, const Tensor& lse, const Tensor& delta,
          const test::AttentionProblem& p) {
        AttentionArgs args;
        args.q = operand(q), args.k = operand(k), args.v = operand(v), args.dout = operand(dout);
        args.dq = operand(dq), args.dk = operand(dk), args.dv = operand(dv);
        args.lse = lse.data<float>(), args.delta = delta.data<float>(),
        args.delta_stride = delta.row_stride();
        args.num_heads = int(p.H), args.head_width = int(p.K), args.scale = float(p.scale);
        cuda::attention_tensor_backward(args, p.c.items, 99 * 1024, nullptr);
      });
}

TEST(CudaAttention, DeltaEqualsItsSumInDouble) { test::check_attention_delta(test::CudaUnderTest()); }
TEST(CudaAttention, KeyRangesMergeToTheWhole) { test::check_attention_merge(test::CudaUnderTest()); }
TEST(CudaAttention, TensorCoreKeyRangesMergeToTheWhole) {
  test::check_attention_merge(test::CudaUnderTest(), test::forward_by(cuda::attention_tensor));
}
TEST(CudaAttention, MoreItemsThanALaunchTakes) { test::check_attention_of_many_items(test::CudaUnderTest()); }
TEST(CudaAttention, RefusesWrongCalls) { test::check_attention_refusals(test::CudaUnderTest()); }

/// bf16 operands that tensor cores serve.
AttentionArgs fitting_args() {
  const auto operand = [](DType dtype) {
    return Operand{reinterpret_cast<void*>(uintptr_t(4096)), 384, dtype};
  };
  AttentionArgs args;
  args.q = args.k = args.v = args.dout = operand(DType::kBF16);
  args.out = args.dq = args.dk = args.dv = operand(DType::kF32);
  args.num_heads = 3, args.head_width = 128;
  return args;
}

TEST(CudaAttention, ChoosesTheKernelByTypeWidthAndAlignment) {
  const auto kernel_after = [](const std::function<void(AttentionArgs&)>& change) {
    AttentionArgs args = fitting_args();
    change(args);
    return cuda::choose_attention(args, 80).kernel;
  };
  const auto move = [](Operand& x, int64_t bytes) { x.data = static_cast<char*>(x.data) + bytes; };
  EXPECT_EQ(kernel_after([](auto&) {}), AttentionKernel::kTensorCores);
  EXPECT_EQ(kernel_after([](auto& a) { a.head_width = 64; }), AttentionKernel::kTensorCores);
  EXPECT_EQ(kernel_after([](auto& a) { a.out.dtype = DType::kBF16; }), AttentionKernel::kTensorCores);
  EXPECT_EQ(kernel_after([&](auto& a) { move(a.dq, 8); }), AttentionKernel::kTensorCores);
  EXPECT_EQ(kernel_after([](auto& a) { a.dout = a.dq = a.dk = a.dv = {}; }), AttentionKernel::kTensorCores);

  EXPECT_EQ(kernel_after([](auto& a) { a.head_width = 96; }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([](auto& a) { a.q.dtype = DType::kF32; }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([&](auto& a) { move(a.v, 8); }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([](auto& a) { a.k.stride += 4; }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([](auto& a) { a.dout.stride += 1; }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([](auto& a) { a.q.stride = cuda::kMostStride + 8; }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([&](auto& a) { move(a.dk, 4); }), AttentionKernel::kPlain);
  EXPECT_EQ(kernel_after([](auto& a) { a.out.stride += 1; }), AttentionKernel::kPlain);

  AttentionArgs forward = fitting_args();
  forward.dout = forward.dq = forward.dk = forward.dv = {};
  EXPECT_EQ(cuda::choose_attention(forward, 90).kernel, AttentionKernel::kHopper);
  EXPECT_EQ(cuda::choose_attention(fitting_args(), 90).kernel, AttentionKernel::kTensorCores);
  EXPECT_EQ(cuda::choose_attention(forward, 100).kernel, AttentionKernel::kTensorCores);
  forward.head_width = 96;
  EXPECT_EQ(cuda::choose_attention(forward, 90).kernel, AttentionKernel::kPlain);
}

TEST(CudaAttention, SaysOnceWhichKernelRunsAndWhy) {
  const auto log_of = [](int64_t head_width) {
    testing::internal::CaptureStderr();
    test::check_attention_forward(test::CudaUnderTest(),
                                  {{1, head_width, {{0, 3, 0, 5}}, DType::kBF16, 1, true}});
    return testing::internal::GetCapturedStderr();
  };
  // No other test has heads of 48, so that the first call of this process is here.
  EXPECT_EQ(log_of(48),
            "attention on cuda: bf16 heads of 48 run on the plain kernels: tensor cores serve heads of 64 "
            "and 128\n");
  EXPECT_EQ(log_of(48), "");
  log_of(64);
  EXPECT_EQ(log_of(64), "");
}

}  // namespace
}  // namespace zoetrope
