// A product as the cuBLASLt stand-in sees it: what the descriptors said, and the checks and the arithmetic on
// it. For tests/simt alone.
#pragma once

#include <cublasLt.h>

#include <string>

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int32_t bias_type = -1;  ///< -1: as D
  void* aux = nullptr;
  int64_t aux_leading = 0;
  int32_t aux_type = -1;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  ///< of A, B, C, D; the real default
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
};

namespace simt::blas {

struct Product {
  cublasLtMatmulDescOpaque_t what;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  float alpha = 1, beta = 0;
  const void *a_data = nullptr, *b_data = nullptr, *c_data = nullptr;
  void* d_data = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return what.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }
  bool has(uint32_t part) const { return (what.epilogue & part) != 0; }
  std::string text() const;
};
/// Parts that epilogues are made of.
inline constexpr uint32_t kBias = 4, kBiasGradient = 16, kGelu = 32, kGeluBackward = 64, kAux = 128,
                          kGradientOfA = 256, kGradientOfB = 512;

/// Bytes of one element.
size_t width_of(cudaDataType type);
/// Why no algorithm takes these shapes and types; empty when one does.
std::string shape_error(const Product& product);
/// Why the pointers do not fit the shapes: too short, misaligned, overlapping. Device memory is checked.
/// `alignment` is that of A, B, C, D and the bias.
std::string pointer_error(const Product& product, const uint32_t (&alignment)[5]);
/// Multiplies. Operands are device memory that is open.
void multiply(const Product& product);

}  // namespace simt::blas
