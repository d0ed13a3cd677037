// Small matrix products on packed operands in cache: the inner loops of attention. f32 by fused multiply-add;
// bf16 by AVX-512 dot products of pairs (attention_tiles.h has the products of AMX).
#pragma once

#include <cstdint>

#include "core/dtype.h"

#if defined(__AVX512BF16__) && defined(__AVX512F__)
#define ZT_BF16_BLOCKS 1  // the compiler's target has bf16 dot products
#else
#define ZT_BF16_BLOCKS 0
#endif

namespace zoetrope::cpu {

/// c [m, n] = a [m, k] b [k, n], or += when `accumulate`. n is a multiple of 16; strides in elements.
void block_product(float* c, int64_t c_row, const float* a, int64_t a_row, const float* b, int64_t b_row,
                   int64_t m, int64_t n, int64_t k, bool accumulate);

#if ZT_BF16_BLOCKS
/// The same in bf16 with sums in f32. b is stored in pairs of rows: b[k / 2][n][2], `b_row` pairs apart.
/// m and n are multiples of 16, k of 2.
void block_product(float* c, int64_t c_row, const bf16* a, int64_t a_row, const bf16* b, int64_t b_row,
                   int64_t m, int64_t n, int64_t k, bool accumulate);
#endif

}  // namespace zoetrope::cpu
