#include "model/ops/cpu/panel_product.h"

#include "core/check.h"
#include "model/ops/cpu/tile_registers.h"

namespace zoetrope::cpu {

#if ZT_TILES
// Tiles 0-3 are the sums, 4 and 5 the left panel's halves, 6 and 7 the right one's: four loads for four
// products.
__attribute__((noinline)) void panel_product(float* sums, const LeftPanel& left, const bf16* right,
                                             int64_t steps, bool accumulate, const Ahead& left_ahead,
                                             const Ahead& right_ahead) {
  asm volatile("" ::: "memory");  // the instructions don't say that they read memory
  const char *left_line = left_ahead.at, *right_line = right_ahead.at;
  const char *upper = reinterpret_cast<const char*>(left.data), *lower = upper + left.half_bytes;
  renew<0>(nullptr, sums, accumulate);
  renew<1>(nullptr, sums, accumulate);
  renew<2>(nullptr, sums, accumulate);
  renew<3>(nullptr, sums, accumulate);
  for (int64_t step = 0; step < steps; ++step) {
    load_tile<4>(upper, left.row_bytes);
    load_tile<6>(right);
    multiply_add<0, 4, 6>();
    load_tile<7>(right + kTileHalves);
    multiply_add<1, 4, 7>();
    load_tile<5>(lower, left.row_bytes);
    multiply_add<2, 5, 6>();
    multiply_add<3, 5, 7>();
    for (int64_t run = 0; run < left_ahead.runs; ++run)
      _mm_prefetch(left_line + run * left_ahead.stride, _MM_HINT_T1);
    for (int64_t run = 0; run < right_ahead.runs; ++run)
      _mm_prefetch(right_line + run * right_ahead.stride, _MM_HINT_T1);
    left_line += 64, right_line += 64;
    upper += left.step_bytes, lower += left.step_bytes, right += kStepElements;
  }
  store_result(sums);
}
#else
void panel_product(float*, const LeftPanel&, const bf16*, int64_t, bool, const Ahead&, const Ahead&) {
  throw Error("panel products without AMX");
}
#endif

}  // namespace zoetrope::cpu
