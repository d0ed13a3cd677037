#include "model/ops/cuda/cuda_ops.h"

#include "core/cuda_check.h"
#include "core/device_cuda.h"
#include "model/ops/backends.h"
#include "model/ops/cuda/attention_cudnn.h"
#include "model/ops/cuda/products.h"
#include "model/ops/cuda/register.h"

namespace zoetrope {

CudaOps::CudaOps(Arena& workspace, const OpsSettings& settings)
    : workspace_(workspace), products_(std::make_unique<CudaProducts>()) {
  if (settings.attention == AttentionSource::kCudnn)
    cudnn_ = std::make_unique<cuda::CudnnAttention>(workspace, settings.allow_nondeterministic,
                                                    static_cast<cudaStream_t>(stream_.handle()));
  void* memory = nullptr;
  ZT_CUDA(cudaMallocHost(&memory, sizeof(double)));
  readback_ = std::shared_ptr<void>(memory, [](void* p) { (void)cudaFreeHost(p); });
}
CudaOps::~CudaOps() = default;

double CudaOps::read(const double* on_device) const {
  const auto stream = static_cast<cudaStream_t>(stream_.handle());
  ZT_CUDA(cudaMemcpyAsync(readback_.get(), on_device, sizeof(double), cudaMemcpyDeviceToHost, stream));
  ZT_CUDA(cudaStreamSynchronize(stream));
  return *static_cast<const double*>(readback_.get());
}

void register_cuda_backend() {
  register_device(Device::kCuda, cuda_device_backend());
  register_ops(Device::kCuda, [](Arena& workspace, const OpsSettings& settings) -> std::unique_ptr<Ops> {
    return std::make_unique<CudaOps>(workspace, settings);
  });
}

}  // namespace zoetrope
