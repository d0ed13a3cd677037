// cuBLASLt, loaded when it is first called: programs with the CUDA backend start without its 500 MB (66 ms)
// and run on machines that have none. Only in builds for real GPUs; each function hands on to the library's
// own.
#include <cublasLt.h>

#include <string>

#include "core/loaded_library.h"

namespace {

zoetrope::LoadedLibrary& library() {
  static zoetrope::LoadedLibrary cublaslt(
      "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), ZT_CUDA_LIBRARIES,
      {"cuBLASLt", "--device cuda needs", " of the CUDA toolkit", "install it"});
  return cublaslt;
}

}  // namespace

/// The library's own function of the same name as the one that calls.
#define ZT_OWN(name) static const auto own = library().find<decltype(name)>(#name)

extern "C" {

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t* handle) {
  ZT_OWN(cublasLtCreate);
  return own(handle);
}
cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle) {
  ZT_OWN(cublasLtDestroy);
  return own(handle);
}
const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status) {
  ZT_OWN(cublasLtGetStatusString);
  return own(status);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                                     cublasComputeType_t compute, cudaDataType_t scale) {
  ZT_OWN(cublasLtMatmulDescCreate);
  return own(description, compute, scale);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  ZT_OWN(cublasLtMatmulDescDestroy);
  return own(description);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           const void* value, size_t bytes) {
  ZT_OWN(cublasLtMatmulDescSetAttribute);
  return own(description, attribute, value, bytes);
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                       uint64_t rows, uint64_t columns, int64_t leading) {
  ZT_OWN(cublasLtMatrixLayoutCreate);
  return own(layout, type, rows, columns, leading);
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  ZT_OWN(cublasLtMatrixLayoutDestroy);
  return own(layout);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  ZT_OWN(cublasLtMatmulPreferenceCreate);
  return own(preference);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  ZT_OWN(cublasLtMatmulPreferenceDestroy);
  return own(preference);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
    size_t bytes) {
  ZT_OWN(cublasLtMatmulPreferenceSetAttribute);
  return own(preference, attribute, value, bytes);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                                           cublasLtMatmulDesc_t description,
                                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                           cublasLtMatmulPreference_t preference, int wanted,
                                                           cublasLtMatmulHeuristicResult_t results[],
                                                           int* found) {
  ZT_OWN(cublasLtMatmulAlgoGetHeuristic);
  return own(handle, description, a, b, c, d, preference, wanted, results, found);
}
cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                           const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                           const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                           const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                           cublasLtMatrixLayout_t d_layout,
                                           const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                           size_t workspace_bytes, cudaStream_t stream) {
  ZT_OWN(cublasLtMatmul);
  return own(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm,
             workspace, workspace_bytes, stream);
}

}  // extern "C"
