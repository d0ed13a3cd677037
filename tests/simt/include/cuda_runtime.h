// The CUDA runtime for host code in tests: so far, launches that run at once.
#pragma once

#include <simt_device.h>

enum cudaError_t { cudaSuccess = 0 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
using cudaStream_t = struct CUstream_st*;

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }

namespace simt {
cudaError_t set_most_shared_bytes(const void* kernel, int bytes);
}
template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute, int bytes) {
  return simt::set_most_shared_bytes(reinterpret_cast<const void*>(kernel), bytes);
}
