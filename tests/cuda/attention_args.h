// Arguments of attention's kernels from tensors, for tests that call one kernel whatever the device would
// take.
#pragma once

#include "model/ops/cuda/attention.h"
#include "tests/support/attention_checks.h"

namespace zoetrope::test {

inline cuda::Operand operand_of(const Tensor& x) { return {x.raw(), x.row_stride(), x.dtype()}; }

/// A forward kernel as the checks of attention call it.
using ForwardKernel = void (*)(const cuda::AttentionArgs&, std::span<const AttentionItem>, cudaStream_t);
inline AttentionForward forward_by(ForwardKernel kernel) {
  return [kernel](const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                  std::span<const AttentionItem> items, const AttentionProblem& p, bool accumulate) {
    cuda::AttentionArgs args;
    args.out = operand_of(out), args.q = operand_of(q), args.k = operand_of(k), args.v = operand_of(v);
    args.lse = lse.data<float>();
    args.num_heads = int(p.H), args.head_width = int(p.K);
    args.scale = float(p.scale), args.accumulate = accumulate;
    kernel(args, items, nullptr);
  };
}

}  // namespace zoetrope::test
