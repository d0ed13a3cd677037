#include "model/ops/cpu/packing.h"

namespace zoetrope::cpu {
namespace {

using simd::F16;
using simd::I16;

/// One stage of the 16 x 16 transpose: swaps off-diagonal squares of side kSide between rows i and i + kSide.
template <int kSide>
void swap_squares(F16 (&v)[16]) {
  I16 low, high;
  for (int lane = 0; lane < 16; ++lane) {
    const bool second = lane & kSide;
    low[lane] = second ? 16 + lane - kSide : lane;
    high[lane] = second ? 16 + lane : lane + kSide;
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i & kSide) continue;
    const F16 a = v[i], b = v[i + kSide];
    v[i] = __builtin_shuffle(a, b, low);
    v[i + kSide] = __builtin_shuffle(a, b, high);
  }
}

}  // namespace

void transpose_words(uint32_t* to, int64_t to_row, const uint32_t* from, int64_t from_row, int64_t rows,
                     int64_t columns) {
  for (int64_t r = 0; r < rows; r += 16)
    for (int64_t c = 0; c < columns; c += 16) {
      F16 v[16];
      for (int i = 0; i < 16; ++i) std::memcpy(&v[i], from + (r + i) * from_row + c, sizeof(F16));
      swap_squares<1>(v);
      swap_squares<2>(v);
      swap_squares<4>(v);
      swap_squares<8>(v);
      for (int i = 0; i < 16; ++i) std::memcpy(to + (c + i) * to_row + r, &v[i], sizeof(F16));
    }
}

void pair_rows(bf16* to, const bf16* from, int64_t rows, int64_t columns) {
  using simd::H16;
  using simd::U16;
  for (int64_t r = 0; r < rows; r += 2)
    for (int64_t c = 0; c < columns; c += 16) {
      H16 even, odd;
      std::memcpy(&even, from + r * columns + c, sizeof even);
      std::memcpy(&odd, from + (r + 1) * columns + c, sizeof odd);
      const U16 pairs = __builtin_convertvector(even, U16) | (__builtin_convertvector(odd, U16) << 16);
      std::memcpy(static_cast<void*>(to + r * columns + 2 * c), &pairs, sizeof pairs);
    }
}

}  // namespace zoetrope::cpu
