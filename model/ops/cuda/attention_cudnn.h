// Attention by cuDNN's plans (cudnn_attention.h) as the operators want it: packed items of any lengths,
// results merged into what is there, gradients added. What cuDNN has no plan for is handed back to own
// kernels, which is said once.
//
// Note [Calls as plans]: a plan serves `batch` samples of up to so many rows. The items of a call are grouped
// by their rounded row counts (`bucketed`), and each group is cut into runs of powers of two, so that few
// plans serve all calls and no memory is padded by more than a quarter. Where an item starts and how long it
// is are read by the plan from tables in device memory, written by a kernel that has the items as its
// parameter: nothing is uploaded. cuDNN's results are bf16: they go where they belong when that is bf16 and
// nothing is there yet, else to work space, from where a kernel merges or adds them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "model/ops/cuda/attention.h"
#include "model/ops/cuda/cudnn_plan_cache.h"

namespace zoetrope::cuda {

class CudnnAttention {
 public:
  /// `allow_nondeterministic`: cuDNN's fastest backward pass may run, whose bits differ from run to run.
  /// Throws: Error when cuDNN can't be used.
  CudnnAttention(Arena& workspace, bool allow_nondeterministic, cudaStream_t stream);

  /// Ops::attention on checked operands. Returns: the items that are left to own kernels.
  std::vector<AttentionItem> forward(const AttentionArgs& args, std::span<const AttentionItem> items);
  /// Ops::attention_backward, as above.
  std::vector<AttentionItem> backward(const AttentionArgs& args, std::span<const AttentionItem> items);

  /// Plans made so far, and those refused.
  int64_t num_plans() const { return plans_.num_plans(); }

 private:
  struct Run;
  struct Split;
  Split split(cudnn::Pass pass, const AttentionArgs& args, std::span<const AttentionItem> items);
  const std::shared_ptr<const cudnn::AttentionPlan>& plan_of(cudnn::Pass pass,
                                                             const cudnn::AttentionShape& shape);
  void run_forward(const AttentionArgs& args, const Run& run);
  void run_backward(const AttentionArgs& args, const Run& run);
  void start(const Run& run, std::span<const cudnn::PlacedTensor> tensors);

  Arena& workspace_;
  cudaStream_t stream_;
  cudnn::Runner runner_;
  cudnn::PlanCache plans_;
};

/// Why a call runs on own kernels, or nothing: cuDNN serves bf16, heads of 64 and 128, rows on 16 bytes.
const char* reason_against_cudnn(cudnn::Pass pass, const AttentionArgs& args);

}  // namespace zoetrope::cuda
