#include "tests/simt/tensor_map.h"

#include <cstring>

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                const cuuint64_t* globalStrides, const cuuint32_t* boxDim,
                                const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill oobFill) {
  constexpr uint64_t kElement = 2, kMostSize = uint64_t(1) << 32, kMostStride = uint64_t(1) << 40;
  constexpr uint32_t kMostBox = 256;
  const bool known = tensorDataType == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && tensorRank == 2 &&
                     interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                     oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && elementStrides[0] == 1 &&
                     elementStrides[1] == 1;
  const bool sizes =
      globalDim[0] > 0 && globalDim[0] <= kMostSize && globalDim[1] > 0 && globalDim[1] <= kMostSize;
  const bool places = reinterpret_cast<uintptr_t>(globalAddress) % 16 == 0 && globalStrides[0] % 16 == 0 &&
                      globalStrides[0] < kMostStride && globalStrides[0] >= globalDim[0] * kElement;
  const bool box = boxDim[0] > 0 && boxDim[0] <= kMostBox && boxDim[1] > 0 && boxDim[1] <= kMostBox &&
                   boxDim[0] * kElement % 16 == 0;
  const bool swizzled = swizzle == CU_TENSOR_MAP_SWIZZLE_128B;
  if (!known || !sizes || !places || !box || (swizzled && boxDim[0] * kElement > 128))
    return CUDA_ERROR_INVALID_VALUE;
  const simt::TensorMap map{simt::kTensorMapMagic,
                            static_cast<const unsigned char*>(globalAddress),
                            globalDim[1],
                            globalDim[0],
                            globalStrides[0],
                            boxDim[1],
                            boxDim[0],
                            swizzled};
  std::memcpy(tensorMap, &map, sizeof map);
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* driverStatus) {
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *funcPtr = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  *driverStatus = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
