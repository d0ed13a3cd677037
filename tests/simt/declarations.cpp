// The headers of tests/simt/include declare what CUDA's own declare: this file compiles against both, the
// real ones where a CUDA toolkit is installed. It holds no code.
#include <cublasLt.h>
#include <cuda_runtime.h>
#if __has_include(<nccl.h>)
#include <nccl.h>
#define ZT_HAS_NCCL 1
#endif

namespace {

/// One line a function: its type, and that it is declared with it.
#define ZT_IS(result, name, ...) [[maybe_unused]] constexpr result (*check_##name)(__VA_ARGS__) = &::name
/// One line a constant.
#define ZT_EQUALS(name, value) static_assert(static_cast<long long>(name) == (value), #name)

ZT_IS(cudaError_t, cudaGetDeviceCount, int*);
ZT_IS(cudaError_t, cudaSetDevice, int);
ZT_IS(cudaError_t, cudaGetDevice, int*);
ZT_IS(cudaError_t, cudaGetDeviceProperties, cudaDeviceProp*, int);
ZT_IS(cudaError_t, cudaDeviceGetAttribute, int*, cudaDeviceAttr, int);
ZT_IS(cudaError_t, cudaDeviceCanAccessPeer, int*, int, int);
ZT_IS(cudaError_t, cudaDeviceGetStreamPriorityRange, int*, int*);
ZT_IS(cudaError_t, cudaDeviceSynchronize);
ZT_IS(cudaError_t, cudaDriverGetVersion, int*);
ZT_IS(cudaError_t, cudaRuntimeGetVersion, int*);
ZT_IS(cudaError_t, cudaGetLastError);
ZT_IS(cudaError_t, cudaPeekAtLastError);
ZT_IS(const char*, cudaGetErrorString, cudaError_t);
ZT_IS(const char*, cudaGetErrorName, cudaError_t);
ZT_IS(cudaError_t, cudaMalloc, void**, size_t);
ZT_IS(cudaError_t, cudaFree, void*);
ZT_IS(cudaError_t, cudaMallocHost, void**, size_t);
ZT_IS(cudaError_t, cudaHostAlloc, void**, size_t, unsigned int);
ZT_IS(cudaError_t, cudaFreeHost, void*);
ZT_IS(cudaError_t, cudaHostRegister, void*, size_t, unsigned int);
ZT_IS(cudaError_t, cudaHostUnregister, void*);
ZT_IS(cudaError_t, cudaMemGetInfo, size_t*, size_t*);
ZT_IS(cudaError_t, cudaPointerGetAttributes, cudaPointerAttributes*, const void*);
ZT_IS(cudaError_t, cudaMemcpy, void*, const void*, size_t, cudaMemcpyKind);
ZT_IS(cudaError_t, cudaMemcpyAsync, void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
ZT_IS(cudaError_t, cudaMemcpy2D, void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
ZT_IS(cudaError_t, cudaMemcpy2DAsync, void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind,
      cudaStream_t);
ZT_IS(cudaError_t, cudaMemset, void*, int, size_t);
ZT_IS(cudaError_t, cudaMemsetAsync, void*, int, size_t, cudaStream_t);
ZT_IS(cudaError_t, cudaMemset2DAsync, void*, size_t, int, size_t, size_t, cudaStream_t);
ZT_IS(cudaError_t, cudaStreamCreate, cudaStream_t*);
ZT_IS(cudaError_t, cudaStreamCreateWithFlags, cudaStream_t*, unsigned int);
ZT_IS(cudaError_t, cudaStreamCreateWithPriority, cudaStream_t*, unsigned int, int);
ZT_IS(cudaError_t, cudaStreamDestroy, cudaStream_t);
ZT_IS(cudaError_t, cudaStreamSynchronize, cudaStream_t);
ZT_IS(cudaError_t, cudaStreamQuery, cudaStream_t);
ZT_IS(cudaError_t, cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned int);
ZT_IS(cudaError_t, cudaLaunchHostFunc, cudaStream_t, cudaHostFn_t, void*);
ZT_IS(cudaError_t, cudaEventCreate, cudaEvent_t*);
ZT_IS(cudaError_t, cudaEventCreateWithFlags, cudaEvent_t*, unsigned int);
ZT_IS(cudaError_t, cudaEventDestroy, cudaEvent_t);
ZT_IS(cudaError_t, cudaEventRecord, cudaEvent_t, cudaStream_t);
ZT_IS(cudaError_t, cudaEventQuery, cudaEvent_t);
ZT_IS(cudaError_t, cudaEventSynchronize, cudaEvent_t);
ZT_IS(cudaError_t, cudaEventElapsedTime, float*, cudaEvent_t, cudaEvent_t);
ZT_IS(cudaError_t, cudaFuncSetAttribute, const void*, cudaFuncAttribute, int);

/// Defaults and typed forms: these calls compile.
[[maybe_unused]] void forms(float** memory, cudaEvent_t event, cudaStream_t stream) {
  (void)cudaMalloc(memory, 4);
  (void)cudaMallocHost(memory, 4);
  (void)cudaHostAlloc(memory, 4, cudaHostAllocDefault);
  (void)cudaEventRecord(event);
  (void)cudaStreamWaitEvent(stream, event);
  (void)cudaEventCreate(&event, cudaEventDisableTiming);
  (void)cudaMemcpyAsync(memory, memory, 4, cudaMemcpyDefault);
  (void)cudaMemsetAsync(memory, 0, 4);
}

ZT_EQUALS(cudaErrorInvalidValue, 1);
ZT_EQUALS(cudaErrorMemoryAllocation, 2);
ZT_EQUALS(cudaErrorInvalidConfiguration, 9);
ZT_EQUALS(cudaErrorInvalidMemcpyDirection, 21);
ZT_EQUALS(cudaErrorInsufficientDriver, 35);
ZT_EQUALS(cudaErrorNoDevice, 100);
ZT_EQUALS(cudaErrorInvalidDevice, 101);
ZT_EQUALS(cudaErrorInvalidResourceHandle, 400);
ZT_EQUALS(cudaErrorNotReady, 600);
ZT_EQUALS(cudaErrorIllegalAddress, 700);
ZT_EQUALS(cudaErrorLaunchTimeout, 702);
ZT_EQUALS(cudaErrorLaunchFailure, 719);
ZT_EQUALS(cudaMemcpyDefault, 4);
ZT_EQUALS(cudaMemoryTypeDevice, 2);
ZT_EQUALS(cudaStreamNonBlocking, 1);
ZT_EQUALS(cudaEventDisableTiming, 2);
ZT_EQUALS(cudaDevAttrMultiProcessorCount, 16);
ZT_EQUALS(cudaDevAttrComputeCapabilityMajor, 75);
ZT_EQUALS(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97);
ZT_EQUALS(sizeof(cudaPointerAttributes), 88);

ZT_IS(cublasStatus_t, cublasLtCreate, cublasLtHandle_t*);
ZT_IS(cublasStatus_t, cublasLtDestroy, cublasLtHandle_t);
ZT_IS(const char*, cublasLtGetStatusString, cublasStatus_t);
ZT_IS(cublasStatus_t, cublasLtMatmulDescCreate, cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType);
ZT_IS(cublasStatus_t, cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t);
ZT_IS(cublasStatus_t, cublasLtMatmulDescSetAttribute, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
      const void*, size_t);
ZT_IS(cublasStatus_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayout_t*, cudaDataType, uint64_t, uint64_t,
      int64_t);
ZT_IS(cublasStatus_t, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t);
ZT_IS(cublasStatus_t, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayout_t,
      cublasLtMatrixLayoutAttribute_t, const void*, size_t);
ZT_IS(cublasStatus_t, cublasLtMatmulPreferenceCreate, cublasLtMatmulPreference_t*);
ZT_IS(cublasStatus_t, cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t);
ZT_IS(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t,
      cublasLtMatmulPreferenceAttributes_t, const void*, size_t);
ZT_IS(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic, cublasLtHandle_t, cublasLtMatmulDesc_t,
      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
      cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*, int*);
ZT_IS(cublasStatus_t, cublasLtMatmul, cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
      cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*, const void*,
      cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t,
      cudaStream_t);

ZT_EQUALS(CUBLAS_STATUS_NOT_SUPPORTED, 15);
ZT_EQUALS(CUBLAS_STATUS_INVALID_VALUE, 7);
ZT_EQUALS(CUBLAS_OP_T, 1);
ZT_EQUALS(CUBLAS_COMPUTE_32F, 68);
ZT_EQUALS(CUBLAS_COMPUTE_32F_PEDANTIC, 69);
ZT_EQUALS(CUBLAS_COMPUTE_32F_FAST_TF32, 77);
ZT_EQUALS(CUDA_R_32F, 0);
ZT_EQUALS(CUDA_R_16BF, 14);
ZT_EQUALS(CUBLASLT_ORDER_COL, 0);
ZT_EQUALS(CUBLASLT_MATRIX_LAYOUT_LD, 4);
ZT_EQUALS(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5);
ZT_EQUALS(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_TRANSA, 3);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_TRANSB, 4);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_EPILOGUE, 7);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12);
ZT_EQUALS(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26);
ZT_EQUALS(CUBLASLT_EPILOGUE_BIAS, 4);
ZT_EQUALS(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 164);
ZT_EQUALS(CUBLASLT_EPILOGUE_DGELU_BGRAD, 208);
ZT_EQUALS(CUBLASLT_EPILOGUE_BGRADB, 512);
ZT_EQUALS(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1);
ZT_EQUALS(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3);
ZT_EQUALS(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5);
ZT_EQUALS(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8);
ZT_EQUALS(sizeof(cublasLtMatmulAlgo_t), 64);
ZT_EQUALS(sizeof(cublasLtMatmulHeuristicResult_t), 96);

#if defined(ZT_HAS_NCCL)
ZT_IS(ncclResult_t, ncclGetUniqueId, ncclUniqueId*);
ZT_IS(ncclResult_t, ncclCommInitRank, ncclComm_t*, int, ncclUniqueId, int);
ZT_IS(ncclResult_t, ncclCommDestroy, ncclComm_t);
ZT_IS(ncclResult_t, ncclCommAbort, ncclComm_t);
ZT_IS(ncclResult_t, ncclCommGetAsyncError, ncclComm_t, ncclResult_t*);
ZT_IS(const char*, ncclGetErrorString, ncclResult_t);
ZT_IS(const char*, ncclGetLastError, ncclComm_t);
ZT_IS(ncclResult_t, ncclGroupStart);
ZT_IS(ncclResult_t, ncclGroupEnd);
ZT_IS(ncclResult_t, ncclSend, const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ZT_IS(ncclResult_t, ncclRecv, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ZT_IS(ncclResult_t, ncclAllReduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
      cudaStream_t);
ZT_IS(ncclResult_t, ncclAllGather, const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ZT_IS(ncclResult_t, ncclBroadcast, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ZT_EQUALS(ncclInvalidUsage, 5);
ZT_EQUALS(ncclRemoteError, 6);
ZT_EQUALS(ncclInProgress, 7);
ZT_EQUALS(ncclInt8, 0);
ZT_EQUALS(ncclFloat32, 7);
ZT_EQUALS(ncclFloat64, 8);
ZT_EQUALS(ncclBfloat16, 9);
ZT_EQUALS(ncclMax, 2);
ZT_EQUALS(sizeof(ncclUniqueId), 128);
#endif

}  // namespace
