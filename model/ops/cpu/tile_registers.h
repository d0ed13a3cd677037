// Instructions on tile registers, whose numbers are template arguments: the intrinsics want literals. None of
// them says that it reads or writes memory; whoever uses them puts `asm volatile("" ::: "memory")` around.
#pragma once

#include "core/dtype.h"
#include "model/ops/cpu/tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {

/// The register's 16 rows of 64 bytes from memory, `row_bytes` apart.
template <int kRegister>
inline void load_tile(const void* from, int64_t row_bytes = 64) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kRegister));
}
/// The same to memory, row after row.
template <int kRegister>
inline void store_tile(void* to) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(int64_t(64)), "i"(kRegister));
}
/// Zeros.
template <int kRegister>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kRegister));
}
/// kSum += kLeft kRight.
template <int kSum, int kLeft, int kRight>
inline void multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
}
/// Stores register kRegister's old result, if any, and loads or clears it for the next; a result is four
/// tiles one after the other. Between multiplications this costs nothing, while a store right after its own
/// product waits for it and holds everything up.
template <int kRegister>
inline __attribute__((always_inline)) void renew(float* waiting, const float* next, bool accumulate) {
  if (waiting) store_tile<kRegister>(waiting + kRegister * kTileFloats);
  if (accumulate) load_tile<kRegister>(next + kRegister * kTileFloats);
  else clear_tile<kRegister>();
}
/// Stores the result in registers 0 to 3.
inline void store_result(float* to) {
  asm volatile("" ::: "memory");
  store_tile<0>(to);
  store_tile<1>(to + kTileFloats);
  store_tile<2>(to + 2 * kTileFloats);
  store_tile<3>(to + 3 * kTileFloats);
  asm volatile("" ::: "memory");
}

}  // namespace zoetrope::cpu
#endif
