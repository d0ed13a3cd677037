// The attention kernels of the CUDA backend, one by one, as the measurements call them: past the choice that
// `CudaOps` makes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/ops/ops.h"

namespace zoetrope {

namespace cuda {
class CudnnAttention;
}

/// Operands of one call: all bf16 but lse, delta and the gradients dq, dk, dv.
struct AttentionOperands {
  Tensor out, lse, q, k, v, dout, delta, dq, dk, dv;
  std::vector<AttentionItem> items;
  int64_t num_heads = 0;
  double scale = 0;
  std::shared_ptr<cuda::CudnnAttention> cudnn = {};  ///< of cuDNN's line alone
};

/// One kernel. `why_not` says why it can't run here, or nothing.
struct AttentionKernelLine {
  const char* name;
  double forward_goal, backward_goal;  ///< shares of the matrix rate; 0: none is set
  std::string (*why_not)();
  void (*forward)(const Ops& ops, const AttentionOperands& operands);
  void (*backward)(const Ops& ops, const AttentionOperands& operands);  ///< null: it has none
  /// Makes what the calls need besides, or null.
  void (*open)(const Ops& ops, Arena& workspace, AttentionOperands& operands) = nullptr;
};

/// Every kernel that there is or is to be, the fastest last.
const std::vector<AttentionKernelLine>& attention_kernel_lines();

}  // namespace zoetrope
