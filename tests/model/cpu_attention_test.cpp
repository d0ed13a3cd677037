// Attention of the CPU backend, forward and backward, against softmax in double; merging of key ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/tiles.h"
#include "model/ops/ops.h"
#include "tests/support/attention_cases.h"
#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::all_within;
using test::attention_cases;
using test::AttentionCase;
using test::AttentionProblem;
using test::element;
using test::name_of_case;
using test::Output;
using test::random_matrix;

struct Backend {
  explicit Backend(int threads = 2)
      : pool(threads),
        workspace(64 << 20, Device::kCpu, "test"),
        workspace_of_kernels(64 << 20, Device::kCpu, "test of kernels"),
        ops(make_ops(Device::kCpu, pool, workspace)) {}
  ThreadPool pool;
  Arena workspace;
  mutable Arena workspace_of_kernels;
  std::unique_ptr<Ops> ops;
};

/// The kernel that `Ops` chooses, or the one by block products, which serves processors without tiles.
enum class Kernel { kChosen, kBlocks };

/// Kernels that a case can run on here.
std::vector<Kernel> kernels(DType compute) {
  if (compute == DType::kBF16 && cpu::has_tiles()) return {Kernel::kChosen, Kernel::kBlocks};
  return {Kernel::kChosen};
}

const std::function<void()> kNoProgress;

cpu::AttentionCall call_of(const Backend& backend, const AttentionProblem& p,
                           std::span<const AttentionItem> items) {
  return {p.q,        p.k, p.v, items, p.H, p.K, float(p.scale), backend.pool, backend.workspace_of_kernels,
          kNoProgress};
}
void forward(const Backend& backend, Kernel kernel, const AttentionProblem& p,
             std::span<const AttentionItem> items, const Tensor& out, const Tensor& lse, bool accumulate) {
  if (kernel == Kernel::kBlocks)
    return cpu::attention_by_blocks(call_of(backend, p, items), out, lse, accumulate);
  backend.ops->attention(out, lse, p.q, p.k, p.v, items, p.H, p.scale, accumulate);
}
void backward(const Backend& backend, Kernel kernel, const AttentionProblem& p, const Tensor& dq,
              const Tensor& dk, const Tensor& dv, const Tensor& out, const Tensor& lse, const Tensor& delta) {
  if (kernel == Kernel::kBlocks)
    return cpu::attention_backward_by_blocks(call_of(backend, p, p.c.items), dq, dk, dv, p.dout, lse, delta);
  backend.ops->attention_backward(dq, dk, dv, p.dout, out, p.q, p.k, p.v, lse, delta, p.c.items, p.H,
                                  p.scale);
}

TEST(CpuAttention, ForwardEqualsSoftmaxInDouble) {
  const Backend backend;
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(name_of_case(c));
    const AttentionProblem p(c);
    for (const Kernel kernel : kernels(c.compute))
      for (const DType out_type : {c.compute, DType::kF32}) {
        const Output out(p.T, p.D, out_type, 5.0);
        const Tensor lse = random_matrix(p.T, p.H, 9), untouched = test::clone(lse);
        forward(backend, kernel, p, c.items, out.view(), lse, false);
        const auto owned = [&](int64_t t) { return p.item_of_query[size_t(t)] != nullptr; };
        EXPECT_TRUE(all_within(
            out.view(), [&](int64_t t, int64_t i) { return owned(t) ? p.out[size_t(t * p.D + i)] : 5.0; },
            [&](int64_t t, int64_t i) {
              return p.out_bound(t, i) + test::store_bound(out_type, p.out[size_t(t * p.D + i)]);
            }));
        EXPECT_TRUE(all_within(
            lse,
            [&](int64_t t, int64_t h) {
              return owned(t) ? p.lse[size_t(t * p.H + h)] : element(untouched, t, h);
            },
            [&](int64_t t, int64_t h) { return p.lse_bound(t, h); }));
        EXPECT_TRUE(out.guards_intact());
      }
  }
}

TEST(CpuAttention, BackwardEqualsGradientInDouble) {
  const Backend backend;
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(name_of_case(c));
    const AttentionProblem p(c);
    for (const Kernel kernel : kernels(c.compute)) {
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
      const Tensor delta = Tensor::zeros({p.T, p.H}, DType::kF32);
      forward(backend, kernel, p, c.items, out, lse, false);
      backend.ops->attention_delta(delta, p.dout, out, c.heads);
      const Output dq(p.T, p.D, DType::kF32, 0.5), dk(p.Tk, p.D, DType::kF32, 0.5),
          dv(p.Tk, p.D, DType::kF32, 0.5);
      backward(backend, kernel, p, dq.view(), dk.view(), dv.view(), out, lse, delta);
      const auto check = [&](const Output& found, const std::vector<double>& answer,
                             const std::vector<double>& mass, int64_t count) {
        EXPECT_TRUE(all_within(
            found.view(), [&](int64_t t, int64_t i) { return 0.5 + answer[size_t(t * p.D + i)]; },
            [&](int64_t t, int64_t i) {
              // += onto 0.5 rounds partial sums of that size.
              return p.gradient_bound(mass[size_t(t * p.D + i)], count) +
                     test::dot_bound(0.5, 0.5 + answer[size_t(t * p.D + i)], count);
            }));
        EXPECT_TRUE(found.guards_intact());
      };
      check(dq, p.dq, p.dq_mass, p.Tk);
      check(dk, p.dk, p.dk_mass, p.T);
      check(dv, p.dv, p.dv_mass, p.T);
    }
  }
}

TEST(CpuAttention, KeyRangesMergeToTheWhole) {
  const Backend backend;
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    const AttentionProblem p(AttentionCase{2, 64, {{0, 70, 0, 151}}, compute, 2});
    for (const Kernel kernel : kernels(compute)) {
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::empty({p.T, p.H}, DType::kF32);
      const float nothing = -std::numeric_limits<float>::infinity();
      std::fill_n(lse.data<float>(), lse.size(), nothing);
      // Uneven ranges, an empty one first, in the middle and last.
      for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 0}, {100, 151}, {7, 7}, {0, 1}, {1, 100}, {151, 151}}) {
        const AttentionItem item{0, 70, begin, end};
        forward(backend, kernel, p, std::span(&item, 1), out, lse, true);
      }
      const auto inside = [&](int64_t t) { return t < 70; };
      EXPECT_TRUE(all_within(
          out, [&](int64_t t, int64_t i) { return inside(t) ? p.out[size_t(t * p.D + i)] : 0; },
          [&](int64_t t, int64_t i) { return 2 * p.out_bound(t, i); }));
      EXPECT_TRUE(all_within(
          lse, [&](int64_t t, int64_t h) { return inside(t) ? p.lse[size_t(t * p.H + h)] : double(nothing); },
          [&](int64_t t, int64_t h) { return 2 * p.lse_bound(t, h); }));
    }
  }
}

TEST(CpuAttention, ThreadCountDoesNotChangeABit) {
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    const AttentionProblem p(AttentionCase{3, 40, {{0, 90, 0, 131}, {90, 300, 131, 200}}, compute});
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      const Backend backend(threads);
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
      const Tensor delta = Tensor::zeros({p.T, p.H}, DType::kF32),
                   dq = Tensor::zeros({p.T, p.D}, DType::kF32);
      const Tensor dk = Tensor::zeros({p.Tk, p.D}, DType::kF32), dv = Tensor::zeros({p.Tk, p.D}, DType::kF32);
      backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
      backend.ops->attention_delta(delta, p.dout, out, p.H);
      backend.ops->attention_backward(dq, dk, dv, p.dout, out, p.q, p.k, p.v, lse, delta, p.c.items, p.H,
                                      p.scale);
      const std::vector<Tensor> all{out, lse, delta, dq, dk, dv};
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(std::memcmp(all[i].raw(), first[i].raw(), size_t(all[i].bytes())), 0)
            << "tensor " << i << " with " << threads << " threads";
    }
  }
}

TEST(CpuAttention, ProgressIsCalledFromTheCallingThreadOnly) {
  const Backend backend(3);
  const AttentionProblem p(AttentionCase{4, 32, {{0, 700, 0, 700}}});
  const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
  std::atomic<int> calls{0}, strangers{0};
  const std::thread::id caller = std::this_thread::get_id();
  backend.ops->set_progress([&] {
    ++calls;
    if (std::this_thread::get_id() != caller) ++strangers;
  });
  // Another thread may take all blocks of one call, so the calling thread is only sure to have some of many.
  for (int call = 0; call < 1000 && calls == 0; ++call)
    backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(strangers, 0);
  backend.ops->set_progress({});
  const int before = calls;
  backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace zoetrope
