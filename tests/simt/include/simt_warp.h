// Warp operations: shuffles, votes, matches, __syncwarp. The lanes that the mask names must all come to the
// same line; each stores a pointer to its operands, and the last one serves all.
#pragma once

#include <simt_device.h>
#include <cstring>
#include <type_traits>

namespace simt {

enum class Shuffle { kIndex, kUp, kDown, kXor };
enum class Vote { kAll, kAny, kBallot };

/// What `bits` is in the lane that kind, operand and width name. Throws: Error when that lane takes no part.
uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t bits, unsigned operand, int width, Site site);
unsigned vote(Vote kind, unsigned mask, int predicate, Site site);
void sync_warp(unsigned mask, Site site);
/// The lanes of the mask whose bits equal the caller's.
unsigned match_any(unsigned mask, uint64_t bits, Site site);
/// Sum, or, and ... of __reduce_*_sync over 32-bit integers.
enum class Reduce { kAdd, kMin, kMax, kAnd, kOr, kXor };
unsigned reduce(Reduce kind, bool is_signed, unsigned mask, unsigned value, Site site);
unsigned active_mask();

template <class T>
T shuffle_value(Shuffle kind, unsigned mask, T value, unsigned operand, int width, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "shuffles move at most 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle(kind, mask, bits, operand, width, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
uint64_t bits_of(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

}  // namespace simt

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, simt::Site site = simt::Site::here()) {
  return simt::shuffle_value(simt::Shuffle::kIndex, mask, value, unsigned(lane), width, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 simt::Site site = simt::Site::here()) {
  return simt::shuffle_value(simt::Shuffle::kUp, mask, value, delta, width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   simt::Site site = simt::Site::here()) {
  return simt::shuffle_value(simt::Shuffle::kDown, mask, value, delta, width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, simt::Site site = simt::Site::here()) {
  return simt::shuffle_value(simt::Shuffle::kXor, mask, value, unsigned(lanes), width, site);
}

inline int __all_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return int(simt::vote(simt::Vote::kAll, mask, predicate, site));
}
inline int __any_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return int(simt::vote(simt::Vote::kAny, mask, predicate, site));
}
inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Site site = simt::Site::here()) {
  return simt::vote(simt::Vote::kBallot, mask, predicate, site);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, simt::Site site = simt::Site::here()) {
  simt::sync_warp(mask, site);
}
inline unsigned __activemask() { return simt::active_mask(); }
template <class T>
unsigned __match_any_sync(unsigned mask, T value, simt::Site site = simt::Site::here()) {
  return simt::match_any(mask, simt::bits_of(value), site);
}

#define ZT_SIMT_REDUCE(name, kind, type)                                                                \
  inline type __reduce_##name##_sync(unsigned mask, type value, simt::Site site = simt::Site::here()) { \
    return type(simt::reduce(simt::Reduce::kind, std::is_signed_v<type>, mask, unsigned(value), site)); \
  }
ZT_SIMT_REDUCE(add, kAdd, unsigned)
ZT_SIMT_REDUCE(add, kAdd, int)
ZT_SIMT_REDUCE(min, kMin, unsigned)
ZT_SIMT_REDUCE(min, kMin, int)
ZT_SIMT_REDUCE(max, kMax, unsigned)
ZT_SIMT_REDUCE(max, kMax, int)
ZT_SIMT_REDUCE(and, kAnd, unsigned)
ZT_SIMT_REDUCE(or, kOr, unsigned)
ZT_SIMT_REDUCE(xor, kXor, unsigned)
#undef ZT_SIMT_REDUCE
