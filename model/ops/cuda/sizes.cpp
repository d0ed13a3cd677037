#include "model/ops/cuda/sizes.h"

#include <algorithm>

#include "core/arena.h"
#include "core/check.h"

namespace zoetrope {

int64_t cuda_row_sums_bytes(int64_t num_rows, int64_t width, int64_t num) {
  const int64_t blocks = std::min(kCudaRowBlocks, (num_rows + kCudaBlockRows - 1) / kCudaBlockRows);
  return Arena::padded(2 * blocks * num * ((width + 7) / 8 * 8) * int64_t(sizeof(float))) +
         Arena::padded(2 * blocks * int64_t(sizeof(int32_t)));
}

int64_t cudnn_plan_bytes(int64_t rows, int64_t width) { return kCudaProductBytes + rows * width * 4; }

namespace {

/// Work space of attention by cuDNN (attention_cudnn.cu); own kernels have none.
int64_t attention_bytes(const WorkspaceSizes& sizes) {
  if (sizes.settings.attention != AttentionSource::kCudnn || sizes.compute != DType::kBF16 ||
      (sizes.head_width != 64 && sizes.head_width != 128))
    return 0;
  // A rounded row count adds less than a quarter; runs have 64 items at most.
  const int64_t rows = std::max(sizes.max_tokens, kCudnnLeastRows) * 5 / 4;
  const int64_t num_heads = sizes.width / sizes.head_width;
  const int64_t matrix = Arena::padded(rows * sizes.width * 2);
  const int64_t sums = Arena::padded(rows * num_heads * int64_t(sizeof(float)));
  const int64_t tables =
      8 * Arena::padded(65 * int64_t(sizeof(int64_t))) + 2 * Arena::padded(64 * int64_t(sizeof(int32_t)));
  const int64_t dq_sum = sizes.settings.allow_nondeterministic ? 2 * matrix : 0;
  return tables + 3 * matrix + 2 * sums + dq_sum + Arena::padded(cudnn_plan_bytes(rows, sizes.width));
}

}  // namespace

int64_t cuda_workspace_bytes(const WorkspaceSizes& sizes) { return cuda_workspace_in_use(sizes); }

int64_t cuda_workspace_in_use(const WorkspaceSizes& sizes) {
  // The bias in the type of the products lies below the room of a product.
  const int64_t widest = std::max(6 * sizes.width, sizes.ffn);
  const int64_t products = kCudaProductBytes + Arena::padded(2 * widest);
  // Of modulations at most, or of a feed-forward network's bias; the norms sum two of one width.
  const int64_t sums = cuda_row_sums_bytes(sizes.max_tokens, widest, 1);
  const int64_t losses = Arena::padded((sizes.max_tokens + 1) * int64_t(sizeof(double)));
  return std::max({products, sums, losses, attention_bytes(sizes)});
}

int64_t cuda_prepared_bytes(int64_t n, int64_t k, DType compute) {
  return compute == DType::kF32 ? 0 : n * k * int64_t(size_of(compute));
}

PrecisionSupport cuda_precision_support(DType compute) {
  if (compute == DType::kF32) return {true, "f32 products by cuBLASLt, without TF32"};
  if (compute == DType::kBF16) return {true, "bf16 products with f32 sums by cuBLASLt"};
  return {false, join_message("products in ", name_of(compute), " are not implemented on cuda")};
}

}  // namespace zoetrope
