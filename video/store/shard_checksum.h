// The checksum that HDF5's fletcher32 filter appends to a chunk, at the speed of memory: shards are written
// chunk by chunk past HDF5's own, which takes two bytes at a time. Used by video/store/shard_file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoetrope {

/// Fletcher's sums of 16-bit big-endian words modulo 65535, as HDF5 has them: a sum of zero stands for zeros
/// alone; an odd last byte is a word's high half.
uint32_t fletcher32(const uint8_t* data, size_t size);

}  // namespace zoetrope
