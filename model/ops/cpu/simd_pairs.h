// 32 values of bf16 at a time, for elementwise operators, to which order means nothing: half the instructions
// that twice sixteen take to widen and to round.
#pragma once

#include "model/ops/cpu/simd_memory.h"

namespace zoetrope::simd {

/// 32 neighbours of bf16 in the order that takes the fewest instructions; see `load_pair` and `put_pair`,
/// whose `p` is a multiple of 64 bytes when streamed.
struct Pair {
  F16 first, second;
};
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
/// The even ones, then the odd ones.
inline Pair load_pair(const bf16* p) {
  const __m512i v = _mm512_loadu_si512(p);
  return {std::bit_cast<F16>(_mm512_slli_epi32(v, 16)),
          std::bit_cast<F16>(_mm512_and_si512(v, _mm512_set1_epi32(int32_t(0xffff0000))))};
}
/// Rounds them and puts them back in order.
template <bool kStream>
inline void put_pair(bf16* p, Pair v) {
  using H32 = uint16_t __attribute__((vector_size(64)));
  constexpr H32 kInTurns{0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                         8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i both = std::bit_cast<__m512i>(
      _mm512_cvtne2ps_pbh(std::bit_cast<__m512>(v.second), std::bit_cast<__m512>(v.first)));
  const __m512i mixed = _mm512_permutexvar_epi16(std::bit_cast<__m512i>(kInTurns), both);
  if constexpr (kStream) _mm512_stream_si512(reinterpret_cast<__m512i*>(p), mixed);
  else _mm512_storeu_si512(p, mixed);
}
#else
/// The lower sixteen, then the upper ones.
inline Pair load_pair(const bf16* p) { return {load(p), load(p + kLanes)}; }
/// Rounds them and puts them back.
template <bool kStream>
inline void put_pair(bf16* p, Pair v) {
  put<kStream>(p, v.first, kLanes);
  put<kStream>(p + kLanes, v.second, kLanes);
}
#endif

}  // namespace zoetrope::simd
