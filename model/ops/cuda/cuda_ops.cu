#include "model/ops/cuda/cuda_ops.h"

#include <algorithm>

#include "core/cuda_check.h"
#include "core/device_cuda.h"
#include "model/ops/cuda/register.h"
#include "model/ops/cuda/segment_sums.h"

namespace zoetrope {

CudaOps::CudaOps(Arena& workspace) : workspace_(workspace) {
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

int64_t cuda_workspace_bytes(const WorkspaceSizes& sizes) { return cuda_workspace_in_use(sizes); }

int64_t cuda_workspace_in_use(const WorkspaceSizes& sizes) {
  constexpr int64_t kProducts = int64_t(32) << 20;  // what cuBLASLt's split products of Hopper want at most
  // Sums over rows: of modulations at most, or of a feed-forward network's bias; the norms sum two of one
  // width.
  const int64_t widest = std::max(6 * sizes.width, sizes.ffn);
  const int64_t sums = cuda::segment_sums_bytes(sizes.max_tokens, widest, 1);
  return std::max(kProducts, sums) + (int64_t(1) << 20);
}

PrecisionSupport cuda_precision_support(DType compute) {
  if (compute == DType::kF32) return {true, "f32 products by cuBLASLt, without TF32"};
  if (compute == DType::kBF16) return {true, "bf16 products with f32 sums by cuBLASLt"};
  return {false, join_message("products in ", name_of(compute), " are not implemented on cuda")};
}

void register_cuda_backend() {
  register_device(Device::kCuda, cuda_device_backend());
  register_ops(Device::kCuda, {.make = [](Arena& workspace) -> std::unique_ptr<Ops> {
                                 return std::make_unique<CudaOps>(workspace);
                               },
                               .workspace_bytes = cuda_workspace_bytes,
                               .workspace_in_use = cuda_workspace_in_use,
                               .precision_support = cuda_precision_support});
}

}  // namespace zoetrope
