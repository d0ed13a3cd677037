// How host code starts a kernel and how a kernel finds its shared memory: on a device, or in tests on the CPU
// (ZT_SIMT), where each thread is a fiber.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/cuda_check.h"
#if defined(ZT_SIMT)
#include <simt_launch.h>
#endif

namespace zoetrope::cuda {

/// Sizes of a launch. `name` is the kernel's, for messages.
struct LaunchShape {
  dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  const char* name = "kernel";
};

/// Starts kernel(arguments...) on the stream; the arguments are converted and copied now.
/// Throws: Error when the device refuses the launch.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  constexpr size_t kDefaultBytes = 48 * 1024;  // what a kernel gets without asking
  if (shape.dynamic_shared_bytes > kDefaultBytes)
    ZT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 int(shape.dynamic_shared_bytes)));
#if defined(ZT_SIMT)
  const std::tuple<std::remove_cvref_t<Parameters>...> values(std::forward<Arguments>(arguments)...);
  ZT_CUDA(simt::launch(reinterpret_cast<const void*>(kernel),
                       {shape.grid, shape.block, shape.dynamic_shared_bytes, shape.name}, stream,
                       [kernel, values] { std::apply(kernel, values); }));
#else
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.dynamic_shared_bytes;
  config.stream = stream;
  ZT_CUDA(cudaLaunchKernelEx(&config, kernel, Parameters(std::forward<Arguments>(arguments))...));
#endif
}

#if defined(ZT_SIMT)
/// The block's dynamic shared memory as a T, aligned to 1024 bytes; every call gives the same bytes.
/// Throws: simt::Error when the launch gave fewer bytes than sizeof(T).
template <class T>
T& shared_memory(simt::Site site = simt::Site::here()) {
  static_assert(std::is_trivially_copyable_v<T>, "nobody constructs or destroys what lies in shared memory");
  return *static_cast<T*>(simt::dynamic_shared(sizeof(T), alignof(T), site));
}
#else
/// The block's dynamic shared memory as a T, aligned to 1024 bytes; every call gives the same bytes.
template <class T>
__device__ __forceinline__ T& shared_memory() {
  static_assert(std::is_trivially_copyable_v<T>, "nobody constructs or destroys what lies in shared memory");
  extern __shared__ __align__(1024) unsigned char zt_shared_bytes[];
  return *reinterpret_cast<T*>(zt_shared_bytes);
}
#endif

}  // namespace zoetrope::cuda
