// Moves of pixels within AVX2 registers. Used by video/pixels/lanes_avx2 alone.
#pragma once

#ifdef __AVX2__

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace zoetrope::pixels {

/// Eight by eight 32-bit items.
inline void transpose8(const __m256i (&in)[8], __m256i (&out)[8]) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(in[i], in[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi32(in[i], in[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      b[i + 2 * j] = _mm256_unpacklo_epi64(a[i + j], a[i + 2 + j]);
      b[i + 2 * j + 1] = _mm256_unpackhi_epi64(a[i + j], a[i + 2 + j]);
    }
  for (int i = 0; i < 4; ++i) {
    out[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    out[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

/// Four rows of eight pixels to 32 bytes of each channel.
inline void store_planes(const __m256i* rows, uint8_t* to, ptrdiff_t channel) {
  const __m256i order =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m256i halves = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i planes[4];
  for (int i = 0; i < 4; ++i)
    planes[i] = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(rows[i], order), halves);
  const __m256i rb0 = _mm256_unpacklo_epi64(planes[0], planes[1]),
                rb1 = _mm256_unpacklo_epi64(planes[2], planes[3]),
                g0 = _mm256_unpackhi_epi64(planes[0], planes[1]),
                g1 = _mm256_unpackhi_epi64(planes[2], planes[3]);
  auto* out = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(rb0, rb1, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + channel), _mm256_permute2x128_si256(g0, g1, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * channel),
                      _mm256_permute2x128_si256(rb0, rb1, 0x31));
}

}  // namespace zoetrope::pixels

#endif
