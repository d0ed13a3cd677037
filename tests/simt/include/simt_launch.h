// How model/ops/cuda/launch.h gives a kernel to the emulated devices.
#pragma once

#include <cuda_runtime.h>
#include <functional>

#include "tests/simt/simt.h"

namespace simt {

/// Queues a kernel; `thread_body` runs once for each CUDA thread. `kernel` is the function, for its
/// attributes.
cudaError_t launch(const void* kernel, LaunchShape shape, cudaStream_t stream,
                   std::function<void()> thread_body);

}  // namespace simt
