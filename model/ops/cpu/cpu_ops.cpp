#include "model/ops/cpu/cpu_ops.h"

#include <algorithm>

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/products.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/workspace.h"

namespace zoetrope {

CpuOps::CpuOps(const ThreadPool& pool, Arena& workspace, Bf16Products bf16_products)
    : pool_(pool),
      workspace_(workspace),
      products_(std::make_unique<Products>()),
      bf16_products_(bf16_products) {}
CpuOps::~CpuOps() = default;

int64_t cpu_workspace_bytes(int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute) {
  const int64_t widest = std::max(6 * width, ffn);  // 6 D: the columns of the time projection
  const int64_t blocks = (max_tokens + cpu::kSumRows - 1) / cpu::kSumRows;
  const int64_t sums = Arena::padded((2 * blocks + num_threads) * 2 * widest * 4 + 8 * blocks + 64);
  // oneDNN copies a tile of each operand at most: 16 MiB and the operands of the largest product per thread.
  const int64_t library = num_threads * (int64_t(16 << 20) + 4 * (widest * width + 512 * (widest + width)));
  const int64_t widened = compute == DType::kF32 ? 0 : 1024 * 4 * (widest + width);
  const int64_t panels =
      compute == DType::kF32 ? 0 : panel_workspace_bytes(num_threads, max_tokens, widest, width);
  const int64_t products = std::max(library + widened, panels);
  const int64_t attention = num_threads * std::max(cpu::attention_forward_bytes(head_width, compute),
                                                   cpu::attention_backward_bytes(head_width, compute));
  return std::max({sums, products, attention}) + Arena::padded(max_tokens * 8) + int64_t(1 << 20);
}

int64_t cpu_workspace_in_use(int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute) {
  const int64_t blocks = (max_tokens + cpu::kSumRows - 1) / cpu::kSumRows;
  const int64_t sums = (2 * blocks + num_threads) * 4 * std::max(2 * width, ffn);
  const int64_t attention = num_threads * std::max(cpu::attention_forward_bytes(head_width, compute),
                                                   cpu::attention_backward_bytes(head_width, compute));
  // oneDNN's own scratchpad stays below these.
  int64_t products = 0;
  if (compute != DType::kF32 && best_bf16_products() == Bf16Products::kPanels)
    products = panel_workspace_bytes(num_threads, max_tokens, ffn, width);
  if (compute != DType::kF32 && best_bf16_products() == Bf16Products::kWidened)
    products = std::min<int64_t>(1024, max_tokens) * 4 * (ffn + width);
  return std::max({sums, products, attention});
}

PrecisionSupport cpu_precision_support(DType compute) {
  if (compute == DType::kF32) return {true, std::string("f32 products by ") + product_library()};
  if (compute != DType::kBF16)
    return {false, join_message("products in ", name_of(compute), " are not implemented on cpu")};
  switch (best_bf16_products()) {
    case Bf16Products::kPanels: return {true, "bf16 products by own AMX kernels"};
    case Bf16Products::kLibrary: return {true, std::string("bf16 products by ") + product_library()};
    case Bf16Products::kWidened: break;
  }
  return {false, "this processor has no bf16 products: they run in f32 on bf16-rounded operands"};
}

}  // namespace zoetrope
