#include "model/ops/cpu/panel_product.h"

#include "core/check.h"

namespace zoetrope::cpu {

#if ZT_TILES
// Tiles 0-3 are the sums, 4 and 5 the left panel's halves, 6 and 7 the right one's: four loads for four
// products.
__attribute__((noinline)) void panel_product(float* sums, const LeftPanel& left, const bf16* right,
                                             int64_t steps, bool accumulate, const Ahead& left_ahead,
                                             const Ahead& right_ahead) {
  const char *left_line = left_ahead.at, *right_line = right_ahead.at;
  const char *upper = reinterpret_cast<const char*>(left.data), *lower = upper + left.half_bytes;
  constexpr int64_t kSums = kTileFloats, kHalf = kTileHalves, kRowBytes = 64;
  asm volatile("" ::: "memory");  // the intrinsics don't say that they read memory
  if (accumulate) {
    _tile_loadd(0, sums, kRowBytes);
    _tile_loadd(1, sums + kSums, kRowBytes);
    _tile_loadd(2, sums + 2 * kSums, kRowBytes);
    _tile_loadd(3, sums + 3 * kSums, kRowBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step < steps;
       ++step, upper += left.step_bytes, lower += left.step_bytes, right += kStepElements) {
    _tile_loadd(4, upper, left.row_bytes);
    _tile_loadd(6, right, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + kHalf, kRowBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower, left.row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    for (int64_t run = 0; run < left_ahead.runs; ++run)
      _mm_prefetch(left_line + run * left_ahead.stride, _MM_HINT_T1);
    for (int64_t run = 0; run < right_ahead.runs; ++run)
      _mm_prefetch(right_line + run * right_ahead.stride, _MM_HINT_T1);
    left_line += 64, right_line += 64;
  }
  _tile_stored(0, sums, kRowBytes);
  _tile_stored(1, sums + kSums, kRowBytes);
  _tile_stored(2, sums + 2 * kSums, kRowBytes);
  _tile_stored(3, sums + 3 * kSums, kRowBytes);
  asm volatile("" ::: "memory");
}
#else
void panel_product(float*, const LeftPanel&, const bf16*, int64_t, bool, const Ahead&, const Ahead&) {
  throw Error("panel products without AMX");
}
#endif

}  // namespace zoetrope::cpu
