// The steps of video/pixels/lanes.h with AVX2. Used by video/pixels/band alone.
#pragma once

#ifdef __AVX2__

#include <immintrin.h>

#include "video/pixels/lanes.h"
#include "video/pixels/shuffles_avx2.h"

namespace zoetrope::pixels {

/// See PlainLanes for what each step does.
struct Avx2Lanes {
  static constexpr bool kUnrolled = true;
  using Narrow = __m256i;
  struct Wide {
    __m256i low, high;
  };
  struct Pairs {
    __m256i low, high;
  };
  struct Pixels {
    __m256i low, high;  ///< rows 0-3 and 8-11, 4-7 and 12-15
  };

  static __m256i load256(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static Narrow load(const int16_t* from) { return load256(from); }
  /// As PlainLanes.
  static Narrow load_bytes(const uint8_t* from) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// As PlainLanes.
  static Narrow load_words(const uint8_t* from, int shift) {
    return _mm256_srl_epi16(load256(from), _mm_cvtsi32_si128(shift));
  }
  static Pairs zip(Narrow a, Narrow b) { return {_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)}; }
  static void store(Pairs* to, const Pairs& pairs) { *to = pairs; }
  static Wide splat(int32_t value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
  /// As PlainLanes.
  static void multiply_add(Wide& sum, const Pairs& pairs, int32_t weights) {
    const __m256i both = _mm256_set1_epi32(weights);
    sum.low = _mm256_add_epi32(sum.low, _mm256_madd_epi16(pairs.low, both));
    sum.high = _mm256_add_epi32(sum.high, _mm256_madd_epi16(pairs.high, both));
  }
  /// As PlainLanes.
  static Narrow narrow(const Wide& sum, int shift) {
    const __m128i by = _mm_cvtsi32_si128(shift);
    return _mm256_packs_epi32(_mm256_sra_epi32(sum.low, by), _mm256_sra_epi32(sum.high, by));
  }
  /// As PlainLanes.
  static void store_rows(int32_t* to, const Wide& sum) {
    auto* out = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(sum.low, sum.high, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(sum.low, sum.high, 0x31));
  }

  /// As PlainLanes.
  static void transpose(const Narrow* rows, Pairs* to) {
    for (int half = 0; half < 2; ++half) {
      __m256i in[8], out[8];
      for (int i = 0; i < 8; ++i) in[i] = rows[kRowOrder[size_t(8 * half + i)]];
      transpose8(in, out);
      for (int i = 0; i < 8; ++i) (half == 0 ? to[i].low : to[i].high) = out[i];
    }
  }

  static Narrow scale(Narrow a, int16_t factor) { return _mm256_mulhrs_epi16(a, _mm256_set1_epi16(factor)); }
  static Narrow add(Narrow a, Narrow b) { return _mm256_add_epi16(a, b); }
  static Narrow splat16(int16_t value) { return _mm256_set1_epi16(value); }

  /// As PlainLanes.
  static Pixels pixels(Narrow r, Narrow g, Narrow b) {
    const __m256i rg = _mm256_packus_epi16(_mm256_srai_epi16(r, 4), _mm256_srai_epi16(g, 4));
    const __m256i b0 = _mm256_packus_epi16(_mm256_srai_epi16(b, 4), _mm256_setzero_si256());
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    const __m256i rg_pairs = _mm256_shuffle_epi8(rg, order), b0_pairs = _mm256_shuffle_epi8(b0, order);
    return {_mm256_unpacklo_epi16(rg_pairs, b0_pairs), _mm256_unpackhi_epi16(rg_pairs, b0_pairs)};
  }
  /// The first `count` of eight pixels, three bytes each.
  static void store_pixels(uint8_t* to, __m256i pixels, int count) {
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i dense = _mm256_shuffle_epi8(pixels, order);
    const __m128i first = _mm256_castsi256_si128(dense), last = _mm256_extracti128_si256(dense, 1);
    uint8_t bytes[24];
    uint8_t* out = count == 8 ? to : bytes;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
    _mm_storeu_si64(out + 12, last);
    _mm_storeu_si32(out + 20, _mm_srli_si128(last, 8));
    if (count < 8) std::memcpy(to, bytes, size_t(3 * count));
  }
  static void store_rows(const Pixels* column, int columns, int rows, uint8_t* to, ptrdiff_t line) {
    for (int half = 0; half < 2; ++half) {
      __m256i in[8], out[8];
      for (int i = 0; i < 8; ++i) in[i] = half == 0 ? column[i].low : column[i].high;
      transpose8(in, out);
      for (int i = 0; i < 8; ++i) {
        const int row = kRowOrder[size_t(8 * half + i)];
        if (row < rows) store_pixels(to + row * line, out[i], columns);
      }
    }
  }
  /// As PlainLanes.
  static void store_patches(const Pixels* column, uint8_t* upper, uint8_t* lower, ptrdiff_t channel) {
    for (int half = 0; half < 2; ++half) {
      __m256i in[8], out[8];  // rows in kRowOrder: four of the upper patch, four of the lower
      for (int i = 0; i < 8; ++i) in[i] = half == 0 ? column[i].low : column[i].high;
      transpose8(in, out);
      store_planes(out, upper + 32 * half, channel);
      if (lower != nullptr) store_planes(out + 4, lower + 32 * half, channel);
    }
  }
  static void store_columns(const Pixels* column, int columns, int rows, uint8_t* to, ptrdiff_t line) {
    for (int x = 0; x < columns; ++x) {
      uint8_t* row = to + x * line;
      store_pixels(row, _mm256_permute2x128_si256(column[x].low, column[x].high, 0x20), rows < 8 ? rows : 8);
      if (rows > 8)
        store_pixels(row + 24, _mm256_permute2x128_si256(column[x].low, column[x].high, 0x31), rows - 8);
    }
  }
};

}  // namespace zoetrope::pixels

#endif
