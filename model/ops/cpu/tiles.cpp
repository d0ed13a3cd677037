#include "model/ops/cpu/tiles.h"

#if ZT_TILES
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace zoetrope::cpu {

#if ZT_TILES
bool has_tiles() {
  static const bool granted = [] {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted;
}

TileScope::TileScope() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  asm volatile("" ::: "memory");  // the intrinsics don't say that they read memory
  _tile_loadconfig(&config);
}
TileScope::~TileScope() { _tile_release(); }
#else
bool has_tiles() { return false; }
TileScope::TileScope() {}
TileScope::~TileScope() {}
#endif

}  // namespace zoetrope::cpu
