#include <optional>

#include "core/check.h"
#include "core/device_backend.h"
#include "model/ops/backends.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/ops.h"
#include "model/ops/workspace.h"

namespace zoetrope {
namespace {

std::optional<OpsBackend>& cuda_slot() {
  static std::optional<OpsBackend> backend;
  return backend;
}

const OpsBackend& backend_of(Device device) {
  (void)device_backend(device);  // names what is missing
  ZT_CHECK(cuda_slot().has_value(), "the ", name_of(device), " has no operators registered");
  return *cuda_slot();
}

}  // namespace

void register_ops(Device device, const OpsBackend& backend) {
  ZT_CHECK(device == Device::kCuda, "operators of the ", name_of(device), " are built in");
  cuda_slot() = backend;
}

std::unique_ptr<Ops> make_ops(Device device, const ThreadPool& pool, Arena& workspace) {
  if (device != Device::kCpu) return backend_of(device).make(workspace);
  return std::make_unique<CpuOps>(pool, workspace);
}

int64_t ops_workspace_bytes(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute) {
  if (device != Device::kCpu)
    return backend_of(device).workspace_bytes({max_tokens, width, ffn, head_width, compute});
  return cpu_workspace_bytes(num_threads, max_tokens, width, ffn, head_width, compute);
}

int64_t ops_workspace_in_use(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute) {
  if (device != Device::kCpu)
    return backend_of(device).workspace_in_use({max_tokens, width, ffn, head_width, compute});
  return cpu_workspace_in_use(num_threads, max_tokens, width, ffn, head_width, compute);
}

PrecisionSupport precision_support(Device device, DType compute) {
  if (device != Device::kCpu) return backend_of(device).precision_support(compute);
  return cpu_precision_support(compute);
}

}  // namespace zoetrope
