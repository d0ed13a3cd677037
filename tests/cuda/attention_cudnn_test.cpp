// Attention by cuDNN's plans on the emulated device: our side of it, executed, with a stand-in of ours that
// computes from the pointers, offsets and lengths that a plan is given (cudnn_stand_in.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/ops/cuda/sizes.h"
#include "tests/cuda/cudnn_stand_in.h"
#include "tests/cuda/nccl_ranks.h"
#include "tests/support/attention_checks.h"
#include "tests/support/close.h"
#include "tests/support/cuda_under_test.h"
#include "tests/support/ring_run.h"

namespace zoetrope {
namespace {

using test::AttentionCase;
using test::cudnn_stand_in;

constexpr OpsSettings kReproducible{AttentionSource::kCudnn, false};
constexpr OpsSettings kAnyBits{AttentionSource::kCudnn, true};

class CudnnAttention : public testing::Test {
 protected:
  void SetUp() override { cudnn_stand_in() = {}; }
};

/// What own kernels on tensor cores did.
uint64_t own_products() {
  const auto work = test::kernel_work().value();
  return work.matrix_products + work.group_products;
}

/// The cases that cuDNN serves.
std::vector<AttentionCase> served_cases() {
  std::vector<AttentionCase> all = test::attention_cases();
  std::erase_if(all, [](const AttentionCase& c) { return !c.aligned; });
  return all;
}

TEST_F(CudnnAttention, ForwardEqualsSoftmaxInDouble) {
  test::reset_kernel_work();
  test::check_attention_forward(test::CudaUnderTest(1, {}, kReproducible), served_cases());
  EXPECT_GT(cudnn_stand_in().forward_runs, 0);
  EXPECT_EQ(own_products(), 0u) << "an own kernel ran";
}

TEST_F(CudnnAttention, BackwardEqualsGradientInDouble) {
  for (const bool padded : {false, true})
    for (const OpsSettings& settings : {kReproducible, kAnyBits}) {
      SCOPED_TRACE(join_message(padded ? "padded" : "packed", " log-sum-exps, ",
                                settings.allow_nondeterministic ? "any" : "reproducible", " bits"));
      cudnn_stand_in() = {.padded_lse = padded};
      test::reset_kernel_work();
      test::check_attention_backward(test::CudaUnderTest(1, {}, settings), served_cases(), {}, DType::kBF16);
      EXPECT_GT(cudnn_stand_in().backward_runs, 0);
      EXPECT_EQ(own_products(), 0u) << "an own kernel ran";
    }
}

TEST_F(CudnnAttention, KeyRangesMergeToTheWhole) {
  test::check_attention_merge(test::CudaUnderTest(1, {}, kReproducible));
  EXPECT_GT(cudnn_stand_in().forward_runs, 0);
}

TEST_F(CudnnAttention, ManyItemsShareFewPlans) {
  std::vector<AttentionItem> items;
  for (int64_t i = 0, q = 0, kv = 0; i < 150; ++i) {
    items.push_back({q, q + i % 4, kv, kv + i % 3});
    q += i % 4, kv += i % 3;
  }
  const AttentionCase c{2, 64, items, DType::kBF16, 1, true};
  test::check_attention_forward(test::CudaUnderTest(1, {}, kReproducible), {c});
  // 75 items have rows and keys: runs of 64, 8, 2 and 1.
  EXPECT_EQ(cudnn_stand_in().built, 4);
  test::check_attention_backward(test::CudaUnderTest(1, {}, kReproducible), {c}, {}, DType::kBF16);
}

TEST_F(CudnnAttention, RefusesWrongCalls) {
  test::check_attention_refusals(test::CudaUnderTest(1, {}, kReproducible));
}

/// What is logged by one forward and one backward pass of a case.
std::string log_of(const AttentionCase& c) {
  testing::internal::CaptureStderr();
  test::check_attention_backward(test::CudaUnderTest(1, {}, kReproducible), {c}, {}, DType::kBF16);
  return testing::internal::GetCapturedStderr();
}

TEST_F(CudnnAttention, OwnKernelsRunWhereThereIsNoPlanAndItIsSaid) {
  cudnn_stand_in().reproducible_backward = false;
  const AttentionCase c{1, 64, {{0, 20, 0, 30}}, DType::kBF16, 1, true};
  test::reset_kernel_work();
  EXPECT_NE(
      log_of(c).find("attention backward on cuda: own kernels where cuDNN has no plan: the stand-in has "
                     "no reproducible backward pass"),
      std::string::npos);
  EXPECT_GT(cudnn_stand_in().forward_runs, 0);
  EXPECT_EQ(cudnn_stand_in().backward_runs, 0);
  EXPECT_GT(own_products(), 0u);
  EXPECT_EQ(log_of(c), "");

  cudnn_stand_in() = {.workspace_bytes = cudnn_plan_bytes(kCudnnLeastRows, 128) + 1};
  EXPECT_NE(log_of({1, 128, {{0, 20, 0, 30}}, DType::kBF16, 1, true}).find("bytes of work space"),
            std::string::npos);
  EXPECT_EQ(cudnn_stand_in().forward_runs + cudnn_stand_in().backward_runs, 0);

  EXPECT_NE(log_of({1, 40, {{0, 5, 0, 5}}, DType::kBF16}).find("it serves heads of 64 and 128"),
            std::string::npos);
}

TEST_F(CudnnAttention, TakesNoMoreWorkSpaceThanReserved) {
  const int64_t heads = 2, K = 128, rows = 300;
  for (const OpsSettings& settings : {kReproducible, kAnyBits}) {
    cudnn_stand_in() = {.padded_lse = true, .workspace_bytes = 100000};
    const test::CudaUnderTest backend(1, {}, settings);
    const int64_t before = backend.workspace().high_water_bytes();
    test::check_attention_backward(backend, {{heads, K, {{0, rows, 0, rows}}, DType::kBF16, 1, true}}, {},
                                   DType::kBF16);
    const int64_t taken = backend.workspace().high_water_bytes() - before;
    EXPECT_GT(taken, 3 * rows * heads * K * 2);
    EXPECT_LE(taken, cuda_workspace_in_use({rows, heads * K, 0, K, DType::kBF16, settings}));
  }
}

/// One case on ranks with a device each; `order` draws that of streams and threads.
std::vector<test::RingOutcome> run_rings(const test::RingCase& ring_case, int ranks, uint64_t order,
                                         const OpsSettings& settings) {
  std::vector<test::RingOutcome> outcomes(static_cast<size_t>(ranks));
  NcclOptions options;
  options.sum_bytes = 4096;  // no sums here
  test::run_nccl_ranks({.count = ranks, .order = order}, options, [&](NcclComm& comm) {
    const ThreadPool pool(1);
    Arena arena(int64_t(8) << 20, Device::kCuda, "test");
    const std::unique_ptr<Ops> ops = make_ops(Device::kCuda, pool, arena, settings);
    outcomes[size_t(comm.rank())] = test::run_ring_case(
        ring_case, comm, *ops, arena, {DType::kBF16, DType::kF32}, test::PlantedFault::kNone);
  });
  return outcomes;
}

/// Largest errors over all ranks: out, lse, dq, dk, dv.
std::array<double, 5> worst_of(const std::vector<test::RingOutcome>& outcomes) {
  std::array<double, 5> worst{};
  for (const test::RingOutcome& each : outcomes)
    for (size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], each.errors[i]);
  return worst;
}

/// Law 1: rings err at most twice as much as own kernels on one rank, plus a unit in the last place, and are
/// bit-equal in every order.
TEST_F(CudnnAttention, RingsGiveTheAttentionOfTheWholeInEveryOrder) {
  const std::vector<int64_t> lengths{65, 7, 33};
  for (const int ranks : {2, 3}) {
    const auto whole = test::make_ring_case(uint64_t(ranks), 1, -1, lengths, DType::kBF16, 64);
    const auto split = test::make_ring_case(uint64_t(ranks), ranks, -1, lengths, DType::kBF16, 64);
    SCOPED_TRACE(join_message(ranks, " ranks, plan ", plan_to_json(split.plan)));
    const std::array<double, 5> own = worst_of(run_rings(whole, 1, 0, {}));
    cudnn_stand_in() = {};
    const std::vector<test::RingOutcome> in_order = run_rings(split, ranks, 0, kReproducible);
    EXPECT_GT(cudnn_stand_in().forward_runs, 0);
    EXPECT_GT(cudnn_stand_in().backward_runs, 0);
    const std::array<double, 5> found = worst_of(in_order);
    for (size_t i = 0; i < found.size(); ++i) {
      double largest = 0;
      for (const auto& s : whole.whole)
        for (const double each : *std::array{&s.out, &s.lse, &s.dq, &s.dk, &s.dv}[i])
          largest = std::max(largest, std::abs(each));
      const double ulp = std::exp2(std::floor(std::log2(largest))) * 2 * test::kUnitBF16;
      EXPECT_LE(found[i], 2 * own[i] + ulp) << "tensor " << i;
    }
    for (const uint64_t order : {uint64_t(11), uint64_t(12)}) {
      const std::vector<test::RingOutcome> drawn = run_rings(split, ranks, order, kReproducible);
      for (size_t rank = 0; rank < drawn.size(); ++rank)
        EXPECT_TRUE(drawn[rank].bytes == in_order[rank].bytes) << "rank " << rank << ", order " << order;
    }
  }
}

}  // namespace
}  // namespace zoetrope
