// Calls of the cuBLASLt stand-in: descriptors, the choice of an algorithm, products as operations of a
// stream.
#include "tests/simt/blas.h"

#include <algorithm>
#include <cstring>

#include "tests/simt/runtime.h"

using namespace simt::blas;

struct cublasLtContext {
  int device = 0;
};

namespace {

std::string& last_text() {
  thread_local std::string text;
  return text;
}
cublasStatus_t refuse_product(cublasStatus_t status, const std::string& text) {
  last_text() = text;
  return status;
}

template <class T>
cublasStatus_t assign(T& place, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T))
    return refuse_product(CUBLAS_STATUS_INVALID_VALUE, "an attribute of " + std::to_string(sizeof(T)) +
                                                           " bytes given as " + std::to_string(bytes) +
                                                           " bytes");
  std::memcpy(&place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t unknown(int attribute) {
  return refuse_product(CUBLAS_STATUS_INVALID_VALUE,
                        "attribute " + std::to_string(attribute) + " does not exist");
}

/// What an algorithm was chosen for, by parts that change the choice.
struct Choice {
  uint64_t key = 0;
  uint64_t workspace_bytes = 0;
  uint32_t alignment[5] = {};  ///< of A, B, C, D and the bias
};
static_assert(sizeof(Choice) <= sizeof(cublasLtMatmulAlgo_t));

uint64_t key_of(const Product& p) {
  uint64_t key = 1469598103934665603u;
  const auto add = [&key](uint64_t value) { key = (key ^ value) * 1099511628211u; };
  for (const cublasLtMatrixLayoutOpaque_t* x : {&p.a, &p.b, &p.c, &p.d}) {
    add(uint64_t(x->type));
    add(x->rows);
    add(x->columns);
    add(uint64_t(x->leading));
    add(uint64_t(x->batch));
  }
  add(uint64_t(p.what.compute));
  add(uint64_t(p.what.transpose_a));
  add(uint64_t(p.what.transpose_b));
  add(p.what.epilogue);
  return key;
}

Product product_of(cublasLtMatmulDesc_t what, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Product p;
  p.what = *what;
  p.a = *a;
  p.b = *b;
  p.c = *c;
  p.d = *d;
  return p;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  *lightHandle = new cublasLtContext{simt::cuda::current_device()};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  delete lightHandle;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return 130000; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
/// Says what the stand-in found wrong, for the calling thread's last refusal.
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS || last_text().empty() ? cublasLtGetStatusName(status)
                                                                : last_text().c_str();
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc, cublasComputeType_t computeType,
                                        cudaDataType scaleType) {
  if (scaleType != CUDA_R_32F)
    return refuse_product(CUBLAS_STATUS_NOT_SUPPORTED, "alpha and beta must be f32");
  *matmulDesc = new cublasLtMatmulDescOpaque_t;
  (*matmulDesc)->compute = computeType;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  delete matmulDesc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc,
                                              cublasLtMatmulDescAttributes_t attr, const void* buf,
                                              size_t sizeInBytes) {
  int32_t pointer_mode = 0, multiprocessors = 0;
  switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return assign(matmulDesc->transpose_a, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return assign(matmulDesc->transpose_b, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return assign(matmulDesc->epilogue, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return assign(matmulDesc->bias, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return assign(matmulDesc->bias_type, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return assign(matmulDesc->aux, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return assign(matmulDesc->aux_leading, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return assign(matmulDesc->aux_type, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return assign(multiprocessors, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: {
      const cublasStatus_t status = assign(pointer_mode, buf, sizeInBytes);
      return status != CUBLAS_STATUS_SUCCESS || pointer_mode == 0
                 ? status
                 : refuse_product(CUBLAS_STATUS_NOT_SUPPORTED, "alpha and beta in device memory");
    }
    default: return unknown(int(attr));
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  *matLayout = new cublasLtMatrixLayoutOpaque_t;
  (*matLayout)->type = type;
  (*matLayout)->rows = rows;
  (*matLayout)->columns = cols;
  (*matLayout)->leading = ld;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  delete matLayout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout,
                                                cublasLtMatrixLayoutAttribute_t attr, const void* buf,
                                                size_t sizeInBytes) {
  switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return assign(matLayout->order, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return assign(matLayout->rows, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return assign(matLayout->columns, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return assign(matLayout->leading, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return assign(matLayout->batch, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(matLayout->batch_stride, buf, sizeInBytes);
    default: return unknown(int(attr));
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  *pref = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  delete pref;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  switch (attr) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return assign(pref->workspace_bytes, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return assign(pref->reduction_schemes, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return assign(pref->alignment[0], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return assign(pref->alignment[1], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return assign(pref->alignment[2], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return assign(pref->alignment[3], buf, sizeInBytes);
    default: return unknown(int(attr));
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle,
                                              cublasLtMatmulDesc_t operationDesc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                              cublasLtMatmulHeuristicResult_t heuristicResultsArray[],
                                              int* returnAlgoCount) {
  *returnAlgoCount = 0;
  if (lightHandle == nullptr || requestedAlgoCount < 1)
    return refuse_product(CUBLAS_STATUS_INVALID_VALUE, "no handle, or no result asked for");
  const Product p = product_of(operationDesc, Adesc, Bdesc, Cdesc, Ddesc);
  const std::string wrong = shape_error(p);
  if (!wrong.empty()) return refuse_product(CUBLAS_STATUS_NOT_SUPPORTED, p.text() + ": " + wrong);
  Choice choice;
  choice.key = key_of(p);
  constexpr uint64_t kWanted = uint64_t(1) << 20;  // some: who gives less must get along with less
  choice.workspace_bytes = std::min(preference->workspace_bytes, kWanted);
  std::copy(std::begin(preference->alignment), std::end(preference->alignment), choice.alignment);
  // As cublasLt.h says of CUBLASLT_MATMUL_DESC_BIAS_POINTER: its value tells the alignment to expect.
  const auto bias = reinterpret_cast<uintptr_t>(operationDesc->bias);
  choice.alignment[4] = bias == 0 ? 256u : uint32_t(std::min<uintptr_t>(256, bias & (~bias + 1)));
  cublasLtMatmulHeuristicResult_t& result = heuristicResultsArray[0];
  result = {};
  std::memcpy(result.algo.data, &choice, sizeof choice);
  result.workspaceSize = choice.workspace_bytes;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc, const void* B,
                              cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
                              cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspaceSizeInBytes,
                              cudaStream_t stream) {
  if (lightHandle == nullptr) return refuse_product(CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
  Product p = product_of(computeDesc, Adesc, Bdesc, Cdesc, Ddesc);
  std::memcpy(&p.alpha, alpha, sizeof p.alpha);
  std::memcpy(&p.beta, beta, sizeof p.beta);
  p.a_data = A;
  p.b_data = B;
  p.c_data = C;
  p.d_data = D;
  Choice choice;
  choice.key = key_of(p);
  std::fill(std::begin(choice.alignment), std::end(choice.alignment), uint32_t(width_of(p.a.type)));
  if (algo != nullptr) std::memcpy(&choice, algo->data, sizeof choice);
  p.workspace = workspace;
  p.workspace_bytes = choice.workspace_bytes;
  simt::cuda::Runtime& m = simt::cuda::runtime();
  const simt::cuda::Lock lock(m.mutex);
  if (m.failure != cudaSuccess) return refuse_product(CUBLAS_STATUS_EXECUTION_FAILED, m.failure_text);
  std::string wrong = shape_error(p);
  if (wrong.empty() && choice.key != key_of(p)) wrong = "the algorithm was chosen for another product";
  if (wrong.empty() && choice.workspace_bytes > workspaceSizeInBytes)
    wrong = "the algorithm needs " + std::to_string(choice.workspace_bytes) + " bytes of work space, " +
            std::to_string(workspaceSizeInBytes) + " given";
  if (wrong.empty()) wrong = pointer_error(p, choice.alignment);
  CUstream_st* s = m.stream(stream);
  if (wrong.empty() && (s == nullptr || s->device != lightHandle->device))
    wrong = "no stream of the handle's device";
  if (!wrong.empty()) return refuse_product(CUBLAS_STATUS_INVALID_VALUE, p.text() + ": " + wrong);
  simt::cuda::Operation operation;
  operation.what = p.text();
  operation.run = [p] { multiply(p); };
  m.issue(*s, std::move(operation));
  return CUBLAS_STATUS_SUCCESS;
}
