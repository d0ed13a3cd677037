#include "core/check.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/ops.h"
#include "model/ops/workspace.h"

namespace zoetrope {

std::unique_ptr<Ops> make_ops(Device device, const ThreadPool& pool, Arena& workspace) {
  ZT_REQUIRE(device == Device::kCpu, "this build has no CUDA backend; choose device cpu");
  return std::make_unique<CpuOps>(pool, workspace);
}

int64_t ops_workspace_bytes(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute) {
  ZT_REQUIRE(device == Device::kCpu, "this build has no CUDA backend; choose device cpu");
  return cpu_workspace_bytes(num_threads, max_tokens, width, ffn, head_width, compute);
}

int64_t ops_workspace_in_use(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute) {
  ZT_REQUIRE(device == Device::kCpu, "this build has no CUDA backend; choose device cpu");
  return cpu_workspace_in_use(num_threads, max_tokens, width, ffn, head_width, compute);
}

PrecisionSupport precision_support(Device device, DType compute) {
  ZT_REQUIRE(device == Device::kCpu, "this build has no CUDA backend; choose device cpu");
  return cpu_precision_support(compute);
}

}  // namespace zoetrope
