// Memory that the CUDA backend's operators need, known without a device: plans for GPUs are made anywhere.
#pragma once

#include <cstdint>

#include "model/ops/types.h"

namespace zoetrope {

/// Room of a product: what split products of Hopper want, and to begin on 256 bytes. Units: bytes.
inline constexpr int64_t kCudaProductAlignment = 256;
inline constexpr int64_t kCudaProductBytes = (int64_t(32) << 20) + kCudaProductAlignment;
/// Rows per block of sums over rows (Note [Segment sums]): 16 at least, so that short inputs have blocks for
/// many processors; at most 512 blocks, some four for each processor, which bounds the work space.
inline constexpr int64_t kCudaBlockRows = 16, kCudaRowBlocks = 512;
/// Work space of sums over [num_rows, width] matrices, `num` at a time. Units: bytes.
int64_t cuda_row_sums_bytes(int64_t num_rows, int64_t width, int64_t num);

/// cuDNN's attention runs items together up to the rows of the longest, but at least this many: enough to
/// fill a GPU. Its plans may want work space for f32 gradients of these rows and room for tables.
inline constexpr int64_t kCudnnLeastRows = 4096;
/// Units: bytes.
int64_t cudnn_plan_bytes(int64_t rows, int64_t width);

/// The sizes that work space depends on.
struct WorkspaceSizes {
  int64_t max_tokens = 0, width = 0, ffn = 0, head_width = 0;
  DType compute = DType::kF32;
  OpsSettings settings;
};

/// This backend's part of `ops_workspace_bytes`, `ops_workspace_in_use`, `ops_prepared_bytes` and
/// `precision_support`.
int64_t cuda_workspace_bytes(const WorkspaceSizes& sizes);
int64_t cuda_workspace_in_use(const WorkspaceSizes& sizes);
int64_t cuda_prepared_bytes(int64_t n, int64_t k, DType compute);
PrecisionSupport cuda_precision_support(DType compute);

}  // namespace zoetrope
