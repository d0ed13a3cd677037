// What an emulated CUtensorMap says. For tests/simt alone.
#pragma once

#include <cuda.h>

namespace simt {

/// A matrix of bf16 and the box that one copy takes of it.
struct TensorMap {
  uint64_t magic;
  const unsigned char* data;
  uint64_t rows, columns, row_bytes;
  uint32_t box_rows, box_columns;
  bool swizzled;
};
inline constexpr uint64_t kTensorMapMagic = 0x70616d20726f7373;
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

/// The swizzle of 128-byte rows: the row's number, modulo 8, turns the places of its 16-byte pieces.
constexpr uint32_t swizzle_128(uint32_t address) { return address ^ ((address >> 7 & 7) << 4); }

}  // namespace simt
