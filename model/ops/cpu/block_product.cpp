#include "model/ops/cpu/block_product.h"

#include "model/ops/cpu/simd.h"

#if ZT_BF16_BLOCKS
#include <immintrin.h>
#endif
namespace zoetrope::cpu {
namespace {

// Note [Vector of a strip]: a vector of sixteen floats is two registers without AVX-512, and then the
// compiler keeps arrays of it in memory: 1.6 GF/s instead of 23 to 48 on a processor with AVX2. So a strip is
// made of the vectors that the registers hold, and so tall and wide that its sums, a row of b and a factor
// fit: 6 rows x 4 vectors are 29 of AVX-512's 32 registers, 6 x 2 are 15 of AVX2's 16. The order of every sum
// is the same.
#ifdef __AVX512F__
using Vector = simd::F16;
constexpr int kStripVectors = 4;
#else
using Vector = float __attribute__((vector_size(32)));
constexpr int kStripVectors = 2;
#endif
constexpr int kStripRows = 6, kVectorLanes = sizeof(Vector) / sizeof(float);

inline Vector load(const float* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vector v) { std::memcpy(p, &v, sizeof v); }

/// One strip of kRows rows and kVectors vectors, all sums in registers.
template <int kRows, int kVectors>
void f32_strip(float* c, int64_t c_row, const float* a, int64_t a_row, const float* b, int64_t b_row,
               int64_t k, bool accumulate) {
  Vector sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = accumulate ? load(c + i * c_row + kVectorLanes * j) : Vector{};
  for (int64_t l = 0; l < k; ++l) {
    Vector row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = load(b + l * b_row + kVectorLanes * j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vector factor = Vector{} + a[i * a_row + l];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] += factor * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) store(c + i * c_row + kVectorLanes * j, sum[i][j]);
}

/// All rows of one column strip; the last rows in a strip of their own height.
template <int kVectors>
void f32_columns(float* c, int64_t c_row, const float* a, int64_t a_row, const float* b, int64_t b_row,
                 int64_t m, int64_t k, bool accumulate) {
  int64_t i = 0;
  for (; i + kStripRows <= m; i += kStripRows)
    f32_strip<kStripRows, kVectors>(c + i * c_row, c_row, a + i * a_row, a_row, b, b_row, k, accumulate);
  c += i * c_row, a += i * a_row;
  switch (m - i) {
    case 1: return f32_strip<1, kVectors>(c, c_row, a, a_row, b, b_row, k, accumulate);
    case 2: return f32_strip<2, kVectors>(c, c_row, a, a_row, b, b_row, k, accumulate);
    case 3: return f32_strip<3, kVectors>(c, c_row, a, a_row, b, b_row, k, accumulate);
    case 4: return f32_strip<4, kVectors>(c, c_row, a, a_row, b, b_row, k, accumulate);
    case 5: return f32_strip<5, kVectors>(c, c_row, a, a_row, b, b_row, k, accumulate);
    default: return;
  }
}

#if ZT_BF16_BLOCKS
/// As `f32_strip` with one 32-bit pair of a, and of b's rows, at a time.
template <int kRows, int kVectors>
void pair_strip(float* c, int64_t c_row, const bf16* a, int64_t a_row, const bf16* b, int64_t b_row,
                int64_t k, bool accumulate) {
  __m512 sum[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = accumulate ? _mm512_loadu_ps(c + i * c_row + 16 * j) : _mm512_setzero_ps();
  for (int64_t l = 0; l < k; l += 2) {
    __m512bh row[kVectors];
    for (int j = 0; j < kVectors; ++j)
      row[j] = __m512bh(_mm512_loadu_si512(b + (l / 2 * b_row + 16 * j) * 2));
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      std::memcpy(&pair, a + i * a_row + l, sizeof pair);
      for (int j = 0; j < kVectors; ++j)
        sum[i][j] = _mm512_dpbf16_ps(sum[i][j], __m512bh(_mm512_set1_epi32(pair)), row[j]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) _mm512_storeu_ps(c + i * c_row + 16 * j, sum[i][j]);
}

template <int kVectors>
void pair_columns(float* c, int64_t c_row, const bf16* a, int64_t a_row, const bf16* b, int64_t b_row,
                  int64_t m, int64_t k, bool accumulate) {
  for (int64_t i = 0; i < m; i += 4)  // m is a multiple of 16
    pair_strip<4, kVectors>(c + i * c_row, c_row, a + i * a_row, a_row, b, b_row, k, accumulate);
}
#endif

}  // namespace

void block_product(float* c, int64_t c_row, const float* a, int64_t a_row, const float* b, int64_t b_row,
                   int64_t m, int64_t n, int64_t k, bool accumulate) {
  constexpr int64_t kWide = kStripVectors * kVectorLanes, kHalf = kWide / 2;
  int64_t j = 0;
  for (; j + kWide <= n; j += kWide)
    f32_columns<kStripVectors>(c + j, c_row, a, a_row, b + j, b_row, m, k, accumulate);
  for (; j + kHalf <= n; j += kHalf)
    f32_columns<kStripVectors / 2>(c + j, c_row, a, a_row, b + j, b_row, m, k, accumulate);
  if (j < n) f32_columns<1>(c + j, c_row, a, a_row, b + j, b_row, m, k, accumulate);
}

#if ZT_BF16_BLOCKS
void block_product(float* c, int64_t c_row, const bf16* a, int64_t a_row, const bf16* b, int64_t b_row,
                   int64_t m, int64_t n, int64_t k, bool accumulate) {
  int64_t j = 0;
  for (; j + 64 <= n; j += 64) pair_columns<4>(c + j, c_row, a, a_row, b + 2 * j, b_row, m, k, accumulate);
  for (; j + 16 <= n; j += 16) pair_columns<1>(c + j, c_row, a, a_row, b + 2 * j, b_row, m, k, accumulate);
}
#endif

}  // namespace zoetrope::cpu
