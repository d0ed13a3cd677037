#include "model/ops/cuda/products.h"

#include <cublasLt.h>

#include <algorithm>
#include <compare>
#include <map>

#include "core/cuda_check.h"
#include "model/ops/cuda/sizes.h"

/// Throws `Error` with the call and the library's own message.
#define ZT_CUBLAS(call)                                                     \
  do {                                                                      \
    const cublasStatus_t zt_status = (call);                                \
    ZT_CHECK(zt_status == CUBLAS_STATUS_SUCCESS, "cuBLASLt: ", #call, ": ", \
             cublasLtGetStatusString(zt_status));                           \
  } while (false)

namespace zoetrope {
namespace {

// Note [Row-major products]: cuBLASLt is told the transposed product y^T = b^T a^T in column-major terms, in
// which every row-major matrix is its own transpose with its row stride as leading dimension. So b is the
// library's first operand; the bias of y's columns is one of the library's rows, where its epilogue adds it.

constexpr int64_t kRoom = kCudaProductBytes - kCudaProductAlignment;

cudaDataType_t library_type(DType dtype) { return dtype == DType::kF32 ? CUDA_R_32F : CUDA_R_16BF; }

/// Largest power of two up to 256 that divides the address.
uint32_t alignment_of(const Tensor& t) {
  const auto address = reinterpret_cast<uintptr_t>(t.raw());
  return address == 0 ? 256u : uint32_t(std::min<uintptr_t>(256, address & (~address + 1)));
}

int64_t leading(const Tensor& t) { return t.rows() <= 1 ? t.row_size() : t.row_stride(); }

/// All that the library's choice depends on.
struct Key {
  int64_t rows = 0, columns = 0, inner = 0;
  int64_t y_stride = 0, a_stride = 0, b_stride = 0;
  uint32_t y_alignment = 0, a_alignment = 0, b_alignment = 0, bias_alignment = 0;
  DType in = DType::kF32, out = DType::kF32;
  bool a_transposed = false, b_transposed = false, has_bias = false, accumulate = false;
  auto operator<=>(const Key&) const = default;
};

template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const { (void)destroy(handle); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

Layout make_layout(const Tensor& t) {
  cublasLtMatrixLayout_t layout = nullptr;
  ZT_CUBLAS(cublasLtMatrixLayoutCreate(&layout, library_type(t.dtype()), uint64_t(t.row_size()),
                                       uint64_t(t.rows()), leading(t)));
  return Layout(layout);
}

template <class T>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  ZT_CUBLAS(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  ZT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
}

Description describe(const Key& key) {
  cublasLtMatmulDesc_t handle = nullptr;
  // Full f32: the compute types with TF32 or bf16 in their names are others.
  ZT_CUBLAS(cublasLtMatmulDescCreate(&handle, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Description description(handle);
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(key.b_transposed));
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(key.a_transposed));
  if (key.has_bias) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  return description;
}

void set_bias(const Description& description, const Tensor& bias) {
  if (bias.defined())
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.raw()));
}

Preference prefer(const Key& key) {
  cublasLtMatmulPreference_t handle = nullptr;
  ZT_CUBLAS(cublasLtMatmulPreferenceCreate(&handle));
  Preference preference(handle);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kRoom));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.b_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.a_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.y_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.y_alignment);
  return preference;
}

/// A product of one shape, ready to run.
struct Prepared {
  Description description;
  Layout y, a, b;
  cublasLtMatmulAlgo_t algorithm{};
};

Key key_of(const Tensor& y, const Operand& a, const Operand& b, const Tensor& bias, bool accumulate) {
  Key key;
  key.rows = y.rows();
  key.columns = y.row_size();
  key.inner = a.transposed ? a.matrix.rows() : a.matrix.row_size();
  key.y_stride = leading(y);
  key.a_stride = leading(a.matrix);
  key.b_stride = leading(b.matrix);
  key.y_alignment = alignment_of(y);
  key.a_alignment = alignment_of(a.matrix);
  key.b_alignment = alignment_of(b.matrix);
  key.in = a.matrix.dtype();
  key.out = y.dtype();
  key.a_transposed = a.transposed;
  key.b_transposed = b.transposed;
  key.has_bias = bias.defined();
  if (key.has_bias) key.bias_alignment = alignment_of(bias);
  key.accumulate = accumulate;
  return key;
}

}  // namespace

struct CudaProducts::State {
  cublasLtHandle_t library = nullptr;
  std::map<Key, Prepared> prepared;

  const Prepared& find(const Key& key, const Tensor& y, const Operand& a, const Operand& b,
                       const Tensor& bias);
};

CudaProducts::CudaProducts() : state_(std::make_unique<State>()) {
  ZT_CUBLAS(cublasLtCreate(&state_->library));
}
CudaProducts::~CudaProducts() { (void)cublasLtDestroy(state_->library); }

const Prepared& CudaProducts::State::find(const Key& key, const Tensor& y, const Operand& a, const Operand& b,
                                          const Tensor& bias) {
  if (const auto at = prepared.find(key); at != prepared.end()) return at->second;
  constexpr size_t kMost = 4096;  // some 100 products a step, at every number of tokens of 40 micro-batches
  if (prepared.size() >= kMost) prepared.clear();
  Prepared product{describe(key), make_layout(y), make_layout(a.matrix), make_layout(b.matrix)};
  // The library takes the bias's alignment from its address; without one it expects the widest.
  set_bias(product.description, bias);
  const Preference preference = prefer(key);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  ZT_CUBLAS(cublasLtMatmulAlgoGetHeuristic(library, product.description.get(), product.b.get(),
                                           product.a.get(), product.y.get(), product.y.get(),
                                           preference.get(), 1, &best, &found));
  ZT_CHECK(found == 1 && best.state == CUBLAS_STATUS_SUCCESS, "cuBLASLt has no algorithm for y ",
           y.shape_text(), " from a ", a.matrix.shape_text(), a.transposed ? "^T" : "", " and b ",
           b.matrix.shape_text(), b.transposed ? "^T" : "");
  product.algorithm = best.algo;
  return prepared.emplace(key, std::move(product)).first->second;
}

void CudaProducts::run(const Tensor& y, const Operand& a, const Operand& b, const Tensor& bias,
                       bool accumulate, Arena& workspace, const Stream& stream) {
  if (y.size() == 0) return;
  const Prepared& product = state_->find(key_of(y, a, b, bias, accumulate), y, a, b, bias);
  set_bias(product.description, bias);
  const ArenaScope scope(workspace);
  const auto room = reinterpret_cast<uintptr_t>(workspace.take({kCudaProductBytes}, DType::kU8).raw());
  const auto aligned = (room + kCudaProductAlignment - 1) / kCudaProductAlignment * kCudaProductAlignment;
  const float alpha = 1, beta = accumulate ? 1 : 0;
  ZT_CUBLAS(cublasLtMatmul(state_->library, product.description.get(), &alpha, b.matrix.raw(),
                           product.b.get(), a.matrix.raw(), product.a.get(), &beta, y.raw(), product.y.get(),
                           y.raw(), product.y.get(), &product.algorithm, reinterpret_cast<void*>(aligned),
                           size_t(kRoom), static_cast<cudaStream_t>(stream.handle())));
}

}  // namespace zoetrope
