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

int64_t cuda_workspace_bytes(const WorkspaceSizes& sizes) { return cuda_workspace_in_use(sizes); }

int64_t cuda_workspace_in_use(const WorkspaceSizes& sizes) {
  // The bias in the type of the products lies below the room of a product.
  const int64_t widest = std::max(6 * sizes.width, sizes.ffn);
  const int64_t products = kCudaProductBytes + Arena::padded(2 * widest);
  // Of modulations at most, or of a feed-forward network's bias; the norms sum two of one width.
  const int64_t sums = cuda_row_sums_bytes(sizes.max_tokens, widest, 1);
  const int64_t losses = Arena::padded((sizes.max_tokens + 1) * int64_t(sizeof(double)));
  return std::max({products, sums, losses});
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
