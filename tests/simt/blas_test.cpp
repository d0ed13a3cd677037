// The cuBLASLt stand-in: column-major products against plain loops, and everything that it must refuse.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "tests/simt/devices.h"

namespace {

using zoetrope::bf16;

/// In [-1, 1), the same in every run.
float value_of(uint32_t stream, uint32_t i) {
  const uint32_t mixed = (i * 2654435761u + stream * 40503u) * 2246822519u;
  return float(int32_t(mixed ^ (mixed >> 15))) * std::ldexp(1.f, -31);
}

/// A matrix in device memory, column-major, and the same on the host.
struct Matrix {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  std::vector<float> host;
  char* device = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;

  Matrix(cudaDataType the_type, uint64_t the_rows, uint64_t the_columns, int64_t padding, uint32_t stream)
      : type(the_type), rows(the_rows), columns(the_columns), leading(int64_t(the_rows) + padding) {
    host.resize(size_t(leading) * columns);
    for (size_t i = 0; i < host.size(); ++i) {
      host[i] = value_of(stream, uint32_t(i));
      if (type == CUDA_R_16BF) host[i] = float(bf16(host[i]));
    }
    EXPECT_EQ(cudaMalloc(&device, bytes()), cudaSuccess);
    upload();
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, leading), CUBLAS_STATUS_SUCCESS);
  }
  Matrix(const Matrix&) = delete;
  ~Matrix() {
    cudaFree(device);
    cublasLtMatrixLayoutDestroy(layout);
  }
  size_t bytes() const { return host.size() * (type == CUDA_R_16BF ? 2 : 4); }
  void upload() {
    std::vector<bf16> narrow(host.begin(), host.end());
    const void* from = type == CUDA_R_16BF ? static_cast<const void*>(narrow.data()) : host.data();
    EXPECT_EQ(cudaMemcpy(device, from, bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<float> download() const {
    std::vector<bf16> narrow(host.size());
    std::vector<float> wide(host.size());
    void* to = type == CUDA_R_16BF ? static_cast<void*>(narrow.data()) : wide.data();
    EXPECT_EQ(cudaMemcpy(to, device, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return type == CUDA_R_16BF ? std::vector<float>(narrow.begin(), narrow.end()) : wide;
  }
  double at(uint64_t row, uint64_t column, bool transposed = false) const {
    return transposed ? host[row * uint64_t(leading) + column] : host[column * uint64_t(leading) + row];
  }
};

struct Case {
  uint64_t m = 5, n = 7, k = 33;
  bool transpose_a = false, transpose_b = false;
  cudaDataType in = CUDA_R_32F, out = CUDA_R_32F;
  float alpha = 1, beta = 0;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t padding = 3;
};

/// Everything of one product; `run` gives the library's answer.
struct ProductRun {
  explicit ProductRun(const Case& the_case)
      : c(the_case),
        a(c.in, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, c.padding, 1),
        b(c.in, c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, c.padding, 2),
        d(c.out, c.m, c.n, c.padding, 3),
        bias(c.out, std::max(c.m, c.n), 1, 0, 4),
        aux(c.out, (c.m + 7) / 8 * 8, c.n, 0, 5) {
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    const int32_t transpose = CUBLAS_OP_T;
    if (c.transpose_a) set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    if (c.transpose_b) set(CUBLASLT_MATMUL_DESC_TRANSB, transpose);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.device);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.device);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux.leading);
    EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      const uint32_t element = 2;
      EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, which, &element, sizeof element),
                CUBLAS_STATUS_SUCCESS);
    }
  }
  ~ProductRun() {
    cublasLtMatmulDescDestroy(what);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(what, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t choose() {
    int found = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, what, a.layout, b.layout, d.layout, d.layout, preference, 1,
                                          &chosen, &found);
  }
  cublasStatus_t multiply() {
    return cublasLtMatmul(handle, what, &c.alpha, a.device, a.layout, b.device, b.layout, &c.beta, d.device,
                          d.layout, d.device, d.layout, &chosen.algo, nullptr, 0, nullptr);
  }
  cublasStatus_t run() {
    const cublasStatus_t status = choose();
    return status == CUBLAS_STATUS_SUCCESS ? multiply() : status;
  }

  Case c;
  Matrix a, b, d, bias, aux;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t what = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
/// By central differences, whose error (step^2) is far below f32's.
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

struct Expected {
  std::vector<double> d, aux, bias_gradient;
  double bound = 0;  ///< of every element
};

/// Plain loops in double. The bound: sums of k products of numbers below 1, twice through an epilogue,
/// rounded.
Expected expect(const ProductRun& s) {
  const Case& c = s.c;
  Expected e;
  e.bias_gradient.assign(std::max(c.m, c.n), 0);
  for (uint64_t j = 0; j < c.n; ++j)
    for (uint64_t i = 0; i < c.m; ++i) {
      double value = 0;
      for (uint64_t l = 0; l < c.k; ++l) value += s.a.at(i, l, c.transpose_a) * s.b.at(l, j, c.transpose_b);
      value = c.alpha * value + c.beta * s.d.at(i, j);
      if (c.epilogue & 4) value += s.bias.host[i];
      e.aux.push_back(value);
      if (c.epilogue & 32) value = gelu(value);
      if (c.epilogue & 64) value *= gelu_slope(s.aux.at(i, j));
      if (c.epilogue & 16) e.bias_gradient[i] += value;
      e.d.push_back(value);
    }
  for (uint64_t l = 0; l < c.k; ++l) {
    for (uint64_t i = 0; i < c.m && (c.epilogue & 256); ++i)
      e.bias_gradient[i] += s.a.at(i, l, c.transpose_a);
    for (uint64_t j = 0; j < c.n && (c.epilogue & 512); ++j)
      e.bias_gradient[j] += s.b.at(l, j, c.transpose_b);
  }
  const double unit = c.out == CUDA_R_16BF ? std::ldexp(1., -8) : std::ldexp(1., -24);
  e.bound = (4 * std::ldexp(1., -24) + unit) * double(c.k + c.n + 2);
  return e;
}

void compare(const ProductRun& s, const std::string& name) {
  const Expected e = expect(s);
  const std::vector<float> d = s.d.download(), bias = s.bias.download(), aux = s.aux.download();
  for (uint64_t j = 0; j < s.c.n; ++j)
    for (uint64_t i = 0; i < s.c.m; ++i) {
      ASSERT_NEAR(d[j * uint64_t(s.d.leading) + i], e.d[j * s.c.m + i], e.bound)
          << name << " at " << i << ", " << j;
      if ((s.c.epilogue & 160) != 160) continue;
      ASSERT_NEAR(aux[j * uint64_t(s.aux.leading) + i], e.aux[j * s.c.m + i], e.bound) << name;
    }
  for (uint64_t j = 0; j < s.c.n; ++j)
    for (uint64_t i = s.c.m; i < uint64_t(s.d.leading); ++i)
      ASSERT_EQ(d[j * uint64_t(s.d.leading) + i], s.d.host[j * uint64_t(s.d.leading) + i])
          << name << ": padding";
  const uint64_t sums = s.c.epilogue & 512 ? s.c.n : s.c.epilogue & (16 | 256) ? s.c.m : 0;
  for (uint64_t i = 0; i < sums; ++i) ASSERT_NEAR(bias[i], e.bias_gradient[i], e.bound) << name;
}

class Blas : public testing::Test {
 protected:
  void SetUp() override { simt::reset_devices(); }
  void TearDown() override { EXPECT_EQ(simt::reset_devices(), ""); }
};

TEST_F(Blas, ProductsAgreeWithPlainLoops) {
  for (const auto& [in, out] :
       {std::pair{CUDA_R_32F, CUDA_R_32F}, {CUDA_R_16BF, CUDA_R_16BF}, {CUDA_R_16BF, CUDA_R_32F}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const uint32_t epilogue : {1, 4, 32, 36, 160, 164, 192, 208, 256, 512})
          for (const float beta : {0.f, 1.f}) {
            Case c;
            c.in = in;
            c.out = out;
            c.transpose_a = transpose_a;
            c.transpose_b = transpose_b;
            c.epilogue = epilogue;
            c.alpha = 0.5f;
            c.beta = beta;
            ProductRun s(c);
            const std::string name = "types " + std::to_string(in) + " " + std::to_string(out) +
                                     ", transposes " + std::to_string(transpose_a) +
                                     std::to_string(transpose_b) + ", epilogue " + std::to_string(epilogue) +
                                     ", beta " + std::to_string(beta);
            ASSERT_EQ(s.run(), CUBLAS_STATUS_SUCCESS)
                << name << cublasLtGetStatusString(CUBLAS_STATUS_INVALID_VALUE);
            compare(s, name);
          }
}

TEST_F(Blas, AWrongTransposeShowsAlsoForSquareMatrices) {
  Case c;
  c.m = c.n = c.k = 8;
  ProductRun s(c);
  const int32_t transpose = CUBLAS_OP_T;
  s.set(CUBLASLT_MATMUL_DESC_TRANSB, transpose);
  ASSERT_EQ(s.run(), CUBLAS_STATUS_SUCCESS);
  const Expected e = expect(s);
  const std::vector<float> d = s.d.download();
  double worst = 0;
  for (uint64_t j = 0; j < c.n; ++j)
    for (uint64_t i = 0; i < c.m; ++i)
      worst = std::max(worst, std::abs(d[j * uint64_t(s.d.leading) + i] - e.d[j * c.m + i]));
  EXPECT_GT(worst, 10 * e.bound);
}

TEST_F(Blas, RefusesWhatDoesNotFit) {
  const auto refused = [](const char* what, cublasStatus_t status, const char* text) {
    EXPECT_NE(status, CUBLAS_STATUS_SUCCESS) << what;
    EXPECT_NE(std::string(cublasLtGetStatusString(status)).find(text), std::string::npos)
        << what << ": " << cublasLtGetStatusString(status);
  };
  const int32_t transpose = CUBLAS_OP_T;
  {
    ProductRun s({});
    s.set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    refused("transposed", s.run(), "do not fit");
  }
  {
    ProductRun s({});
    const int64_t leading = 4;
    cublasLtMatrixLayoutSetAttribute(s.a.layout, CUBLASLT_MATRIX_LAYOUT_LD, &leading, sizeof leading);
    refused("leading dimension", s.run(), "leading dimension 4 of a matrix with 5 rows");
    const int32_t narrow = 9;
    refused("attribute size",
            cublasLtMatrixLayoutSetAttribute(s.a.layout, CUBLASLT_MATRIX_LAYOUT_LD, &narrow, 4),
            "8 bytes given as 4 bytes");
  }
  {
    Case c;
    c.padding = 0;
    ProductRun s(c);
    const uint64_t rows = 9;
    cublasLtMatrixLayoutSetAttribute(s.d.layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows);
    refused("rows of D", s.run(), "leading dimension");
  }
  {
    ProductRun s({});
    ASSERT_EQ(s.choose(), CUBLAS_STATUS_SUCCESS);
    const uint32_t other = CUBLASLT_EPILOGUE_BIAS;
    s.set(CUBLASLT_MATMUL_DESC_EPILOGUE, other);
    refused("another product's algorithm", s.multiply(), "chosen for another product");
  }
  {
    ProductRun s({});
    ASSERT_EQ(s.choose(), CUBLAS_STATUS_SUCCESS);
    char* device = s.d.device;
    s.d.device = s.a.device;
    refused("in place of A", s.multiply(), "D overlaps A");
    s.d.device = device + 16;  // beyond the padding
    refused("too short", s.multiply(), "run over the end of device allocation");
    s.d.device = device;
    std::swap(s.a.device, device);
    s.a.device += 1;
    refused("misaligned", s.multiply(), "run over the end");
    std::vector<float> host(1000);
    s.a.device = reinterpret_cast<char*>(host.data());
    refused("host memory", s.multiply(), "in no device allocation");
    s.a.device = device;
  }
  {
    Case c;
    c.epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
    ProductRun s(c);
    const int64_t leading = 9;
    s.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
    refused("auxiliary matrix", s.run(), "a multiple of 8");
    const uint32_t strange = 3;
    s.set(CUBLASLT_MATMUL_DESC_EPILOGUE, strange);
    refused("epilogue", s.run(), "epilogue 3 does not exist");
  }
  {
    Case c;
    c.out = CUDA_R_16BF;
    ProductRun s(c);
    refused("types", s.run(), "no combination");
  }
}

TEST_F(Blas, WorkspaceAndAlignmentAreWhatTheAlgorithmWasChosenFor) {
  Case c;
  c.m = 3;
  ProductRun s(c);
  const uint64_t bytes = 4096;
  const uint32_t wide = 256;
  cublasLtMatmulPreferenceSetAttribute(s.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                       sizeof bytes);
  ASSERT_EQ(s.choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(s.chosen.workspaceSize, bytes);
  EXPECT_EQ(s.multiply(), CUBLAS_STATUS_INVALID_VALUE) << "no work space given";
  const uint64_t none = 0;
  cublasLtMatmulPreferenceSetAttribute(s.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none,
                                       sizeof none);
  cublasLtMatmulPreferenceSetAttribute(s.preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &wide,
                                       sizeof wide);
  ASSERT_EQ(s.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(s.multiply(), CUBLAS_STATUS_SUCCESS);
  char* whole = s.a.device;
  s.a.device = s.b.device + 8;  // longer than A
  EXPECT_EQ(s.multiply(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_NE(std::string(cublasLtGetStatusString(CUBLAS_STATUS_INVALID_VALUE)).find("not aligned to the 256"),
            std::string::npos)
      << cublasLtGetStatusString(CUBLAS_STATUS_INVALID_VALUE);
  s.a.device = whole;
  cudaDeviceSynchronize();
}

}  // namespace
