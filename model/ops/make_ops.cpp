#include "core/check.h"
#include "core/device_backend.h"
#include "model/ops/backends.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cuda/sizes.h"
#include "model/ops/ops.h"
#include "model/ops/workspace.h"

namespace zoetrope {
namespace {

MakeOps& cuda_maker() {
  static MakeOps maker = nullptr;
  return maker;
}

}  // namespace

void register_ops(Device device, MakeOps make) {
  ZT_CHECK(device == Device::kCuda, "operators of the ", name_of(device), " are built in");
  cuda_maker() = make;
}

std::unique_ptr<Ops> make_ops(Device device, const ThreadPool& pool, Arena& workspace,
                              const OpsSettings& settings) {
  ZT_REQUIRE(device == Device::kCuda || settings.attention == AttentionSource::kOwn, "attention kernel '",
             name_of(settings.attention), "' asked for on the ", name_of(device), ", which has 'own' alone");
  if (device == Device::kCpu) return std::make_unique<CpuOps>(pool, workspace);
  (void)device_backend(device);  // says what is missing
  ZT_CHECK(cuda_maker() != nullptr, "the ", name_of(device), " has no operators registered");
  return cuda_maker()(workspace, settings);
}

int64_t ops_workspace_bytes(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute, const OpsSettings& settings) {
  if (device == Device::kCuda)
    return cuda_workspace_bytes({max_tokens, width, ffn, head_width, compute, settings});
  return cpu_workspace_bytes(num_threads, max_tokens, width, ffn, head_width, compute);
}

int64_t ops_workspace_in_use(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute, const OpsSettings& settings) {
  if (device == Device::kCuda)
    return cuda_workspace_in_use({max_tokens, width, ffn, head_width, compute, settings});
  return cpu_workspace_in_use(num_threads, max_tokens, width, ffn, head_width, compute);
}

int64_t ops_prepared_bytes(Device device, int64_t n, int64_t k, DType compute) {
  return device == Device::kCuda ? cuda_prepared_bytes(n, k, compute) : cpu_prepared_bytes(n, k, compute);
}

PrecisionSupport precision_support(Device device, DType compute) {
  return device == Device::kCuda ? cuda_precision_support(compute) : cpu_precision_support(compute);
}

}  // namespace zoetrope
