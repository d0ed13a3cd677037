// AMX's tile registers, and whether this build and this process have them. A tile is 16 rows of 64 bytes.
#pragma once

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__)
#define ZT_TILES 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms inside the header (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#define ZT_TILES 0
#endif

#include <cstdint>

namespace zoetrope::cpu {

inline constexpr int64_t kPanel = 32;  ///< rows or columns of two tiles, which products take at a time
inline constexpr int64_t kTileBytes = 1024;
inline constexpr int64_t kTileHalves = kTileBytes / 2, kTileFloats = kTileBytes / 4;  // elements

/// Whether this program is compiled with tiles and the system grants them.
bool has_tiles();

/// Sets the calling thread's tile registers up while it lives. Library products set their own, so it must not
/// live across them. Without tiles it does nothing.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

}  // namespace zoetrope::cpu
