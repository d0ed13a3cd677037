// CUDA's built-in vector types, with CUDA's alignments, for kernels that are compiled for the CPU.
#pragma once

#include <cstdint>

#define ZT_SIMT_VECTORS(base, scalar, align2, align4)                                  \
  struct base##1 {                                                                     \
    scalar x;                                                                          \
  };                                                                                   \
  struct alignas(align2) base##2 {                                                     \
    scalar x, y;                                                                       \
  };                                                                                   \
  struct base##3 {                                                                     \
    scalar x, y, z;                                                                    \
  };                                                                                   \
  struct alignas(align4) base##4 {                                                     \
    scalar x, y, z, w;                                                                 \
  };                                                                                   \
  constexpr base##1 make_##base##1(scalar x) { return {x}; }                           \
  constexpr base##2 make_##base##2(scalar x, scalar y) { return {x, y}; }              \
  constexpr base##3 make_##base##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
  constexpr base##4 make_##base##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

ZT_SIMT_VECTORS(char, signed char, 2, 4)
ZT_SIMT_VECTORS(uchar, unsigned char, 2, 4)
ZT_SIMT_VECTORS(short, short, 4, 8)
ZT_SIMT_VECTORS(ushort, unsigned short, 4, 8)
ZT_SIMT_VECTORS(int, int, 8, 16)
ZT_SIMT_VECTORS(uint, unsigned int, 8, 16)
ZT_SIMT_VECTORS(long, long, 16, 16)
ZT_SIMT_VECTORS(ulong, unsigned long, 16, 16)
ZT_SIMT_VECTORS(longlong, long long, 16, 16)
ZT_SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
ZT_SIMT_VECTORS(float, float, 8, 16)
ZT_SIMT_VECTORS(double, double, 16, 16)
#undef ZT_SIMT_VECTORS

/// Sizes of a grid or a block.
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_size = 1, unsigned int y_size = 1, unsigned int z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
};
