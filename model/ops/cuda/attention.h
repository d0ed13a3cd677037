// What attention's kernels are given, the choice among them, and their host entries: attention_plain*.cu run
// any type and head size, attention_tensor*.cu bf16 with heads of 64 or 128 on tensor cores by mma.sync,
// attention_hopper.cu its forward on compute capability 9.0.
// Legend: K head width, D the width a kernel is compiled for (K padded up), H heads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"
#include "model/ops/types.h"

namespace zoetrope::cuda {

/// A matrix of any type: head h begins at column h K.
struct Operand {
  void* data = nullptr;
  int64_t stride = 0;  ///< elements from row to row
  DType dtype = DType::kF32;
};

/// Operands of one call, forward or backward (unused ones stay null). lse is dense, [T, H].
struct AttentionArgs {
  Operand out, q, k, v, dout, dq, dk, dv;
  Operand final_out;  ///< backward: over all keys
  float *lse = nullptr, *delta = nullptr;
  int64_t delta_stride = 0;
  int num_heads = 0, head_width = 0;
  float scale = 0;
  bool accumulate = false;
};

/// Items of one launch with the tiles they are cut into: block x works on tile x. A by-value kernel parameter
/// (parameters may take 4 KiB), so that nothing is allocated or uploaded.
struct ItemTiles {
  static constexpr int kMost = 64;  // 64 x 16 B + 65 x 4 B = 1.3 KiB
  struct Item {
    int32_t q_begin, q_count, kv_begin, kv_count;
  };
  Item items[kMost];
  int32_t first_tile[kMost + 1];
  int32_t count;
};

/// Which rows a block owns: those of q, or those of k and v.
enum class TilesOver { kQueries, kKeys };

enum class AttentionKernel { kPlain, kTensorCores, kHopper };
/// The kernel a call runs on, and why, in words.
struct AttentionChoice {
  AttentionKernel kernel;
  const char* why;
};
/// Rows further apart than this many elements run on the plain kernels.
inline constexpr int64_t kMostStride = int64_t(1) << 23;
/// Tensor cores serve bf16 with heads of 64 or 128 whose rows are aligned for vector access (operands 16
/// bytes, outputs two elements), in the forward direction (no dout) by the Hopper kernel where `capability`
/// is 90, for which alone it is compiled; everything else runs on the plain kernels.
AttentionChoice choose_attention(const AttentionArgs& args, int capability);

/// Ops::attention on checked operands.
void attention_plain(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream);
void attention_tensor(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream);
void attention_hopper(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream);
/// Ops::attention_backward on checked operands.
void attention_plain_backward(const AttentionArgs& args, std::span<const AttentionItem> items,
                              cudaStream_t stream);
/// `shared_bytes`: what the device gives a block that asks for it; tiles are smaller where it is little.
void attention_tensor_backward(const AttentionArgs& args, std::span<const AttentionItem> items,
                               int64_t shared_bytes, cudaStream_t stream);

}  // namespace zoetrope::cuda
