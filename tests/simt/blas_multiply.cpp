// Arithmetic of the cuBLASLt stand-in: column-major products in f32, and their epilogues.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/dtype.h"
#include "tests/simt/blas.h"

namespace simt::blas {
namespace {

float load(const void* data, cudaDataType type, uint64_t index) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[index];
  return static_cast<const zoetrope::bf16*>(data)[index];
}
void store(void* data, cudaDataType type, uint64_t index, float value) {
  if (type == CUDA_R_32F) static_cast<float*>(data)[index] = value;
  else static_cast<zoetrope::bf16*>(data)[index] = zoetrope::bf16(value);
}

/// To 10 bits of mantissa, to nearest even: what tensor cores do to f32 when they are let.
float to_tf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

/// op(X) as rows x columns floats, row by row.
std::vector<float> gather(const void* data, const cublasLtMatrixLayoutOpaque_t& x, bool transposed,
                          uint64_t batch, bool tf32) {
  const uint64_t rows = transposed ? x.columns : x.rows, columns = transposed ? x.rows : x.columns;
  std::vector<float> values(rows * columns);
  const uint64_t start = batch * uint64_t(x.batch_stride);
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c) {
      const uint64_t row = transposed ? c : r, column = transposed ? r : c;
      const float value = load(data, x.type, start + column * uint64_t(x.leading) + row);
      values[r * columns + c] = tf32 ? to_tf32(value) : value;
    }
  return values;
}

constexpr float kGeluScale = 0.7978845608028654f, kGeluCubic = 0.044715f;  // sqrt(2/pi); the tanh form
float gelu(float x) { return 0.5f * x * (1 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCubic * x * x);
}

cudaDataType type_or(int32_t type, cudaDataType otherwise) {
  return type < 0 ? otherwise : cudaDataType(type);
}

/// Column j of the product, before alpha: sums over k in order, one term after the other.
void multiply_column(std::vector<float>& column, const std::vector<float>& a_by_k,
                     const std::vector<float>& b, uint64_t j, const Product& p) {
  const uint64_t m = p.m(), n = p.n();
  std::fill(column.begin(), column.end(), 0.f);
  for (uint64_t k = 0; k < p.k(); ++k) {
    const float factor = b[k * n + j];
    const float* a = a_by_k.data() + k * m;
    for (uint64_t i = 0; i < m; ++i) column[i] += a[i] * factor;
  }
}

/// Sums of op(A)'s rows, or of op(B)'s columns, over k.
void sum_operand(const Product& p, const std::vector<float>& a_by_k, const std::vector<float>& b) {
  const bool of_a = p.has(kGradientOfA);
  const uint64_t count = of_a ? p.m() : p.n();
  std::vector<float> sums(count, 0.f);
  for (uint64_t k = 0; k < p.k(); ++k)
    for (uint64_t i = 0; i < count; ++i) sums[i] += (of_a ? a_by_k : b)[k * count + i];
  for (uint64_t i = 0; i < count; ++i) store(p.what.bias, type_or(p.what.bias_type, p.d.type), i, sums[i]);
}

void multiply_batch(const Product& p, uint64_t batch) {
  const bool tf32 = p.what.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const uint64_t m = p.m(), n = p.n();
  // A by k: transposing op(A) gives the rows that the inner loop runs along.
  const std::vector<float> a = gather(p.a_data, p.a, p.what.transpose_a == CUBLAS_OP_N, batch, tf32);
  const std::vector<float> b = gather(p.b_data, p.b, p.what.transpose_b != CUBLAS_OP_N, batch, tf32);
  const cudaDataType bias_type = type_or(p.what.bias_type, p.d.type),
                     aux_type = type_or(p.what.aux_type, p.d.type);
  const uint64_t c_start = batch * uint64_t(p.c.batch_stride), d_start = batch * uint64_t(p.d.batch_stride);
  if (p.has(kGradientOfA | kGradientOfB)) sum_operand(p, a, b);
  std::vector<float> column(m), gradient(m, 0.f);
  for (uint64_t j = 0; j < n; ++j) {
    multiply_column(column, a, b, j, p);
    for (uint64_t i = 0; i < m; ++i) {
      float value = p.alpha * column[i];
      if (p.beta != 0) value += p.beta * load(p.c_data, p.c.type, c_start + j * uint64_t(p.c.leading) + i);
      const uint64_t aux = j * uint64_t(p.what.aux_leading) + i;
      if (p.has(kBias)) value += load(p.what.bias, bias_type, i);
      if (p.has(kGelu) && p.has(kAux)) store(p.what.aux, aux_type, aux, value);
      if (p.has(kGelu)) value = gelu(value);
      if (p.has(kGeluBackward)) value *= gelu_slope(load(p.what.aux, aux_type, aux));
      if (p.has(kBiasGradient)) gradient[i] += value;
      store(p.d_data, p.d.type, d_start + j * uint64_t(p.d.leading) + i, value);
    }
  }
  if (p.has(kBiasGradient))
    for (uint64_t i = 0; i < m; ++i) store(p.what.bias, bias_type, i, gradient[i]);
}

}  // namespace

void multiply(const Product& product) {
  // Whoever keeps something in the work space loses it.
  if (product.workspace_bytes > 0) std::memset(product.workspace, 0xFF, product.workspace_bytes);
  for (uint64_t batch = 0; batch < uint64_t(product.d.batch); ++batch) multiply_batch(product, batch);
}

}  // namespace simt::blas
