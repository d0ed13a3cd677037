// Checks of CUDA calls. For CUDA sources alone.
#pragma once

#include <cuda_runtime.h>

#include "core/check.h"

/// Throws `Error` with the call, its source position and the library's own message; clears the error.
#define ZT_CUDA(call)                                                                                        \
  do {                                                                                                       \
    const cudaError_t zt_status = (call);                                                                    \
    if (zt_status != cudaSuccess) [[unlikely]] {                                                             \
      (void)cudaGetLastError();                                                                              \
      throw ::zoetrope::Error(::zoetrope::join_message("CUDA: ", #call, ": ", cudaGetErrorString(zt_status), \
                                                       " (", cudaGetErrorName(zt_status), ") [", __FILE__,   \
                                                       ":", __LINE__, "]"));                                 \
    }                                                                                                        \
  } while (false)
