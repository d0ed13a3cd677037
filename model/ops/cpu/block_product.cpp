#include "model/ops/cpu/block_product.h"

#include "model/ops/cpu/simd.h"

#if ZT_BF16_BLOCKS
#include <immintrin.h>
#endif
namespace zoetrope::cpu {
namespace {

using simd::F16;
using simd::load;
using simd::store;

/// One strip of kRows rows and kVectors x 16 columns, all sums in registers.
template <int kRows, int kVectors>
void f32_strip(float* c, int64_t c_row, const float* a, int64_t a_row, const float* b, int64_t b_row,
               int64_t k, bool accumulate) {
  F16 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = accumulate ? load(c + i * c_row + 16 * j) : F16{};
  for (int64_t l = 0; l < k; ++l) {
    F16 row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = load(b + l * b_row + 16 * j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const F16 factor = simd::splat(a[i * a_row + l]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] += factor * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) store(c + i * c_row + 16 * j, sum[i][j]);
}

// 6 rows x 4 vectors: 24 sums, 4 rows of b and a factor are 29 of AVX-512's 32 registers.
constexpr int kStripRows = 6;

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
  int64_t j = 0;
  for (; j + 64 <= n; j += 64) f32_columns<4>(c + j, c_row, a, a_row, b + j, b_row, m, k, accumulate);
  for (; j + 32 <= n; j += 32) f32_columns<2>(c + j, c_row, a, a_row, b + j, b_row, m, k, accumulate);
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
