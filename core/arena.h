// The one stack that all activations and work space of a rank come from. It is reserved once, at the
// memory model's figure, and never grows; backward frees in reverse.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace zoetrope {

/// Stack allocator with a fixed size and a high-water mark.
class Arena {
 public:
  /// Reserves `bytes` on `device`; `purpose` is named when it runs out.
  Arena(int64_t bytes, Device device, std::string purpose);

  /// Gives an arena made with 0 bytes its size, once, before anything is taken from it: sizes may depend on
  /// objects that hold a reference to the arena.
  void reserve(int64_t bytes);

  /// Next tensor on the stack, 64-byte aligned, values undefined.
  /// Throws: Error naming the reserved and the needed bytes when the stack is full.
  Tensor take(std::initializer_list<int64_t> shape, DType dtype);

  /// Position of the stack's top; `release(mark())` frees everything taken in between.
  int64_t mark() const { return top_; }
  void release(int64_t mark);

  int64_t reserved_bytes() const { return reserved_; }
  int64_t high_water_bytes() const { return high_water_; }
  void reset_high_water() { high_water_ = top_; }

  /// Bytes that `take` uses for a tensor of this many bytes: the memory model rounds the same way.
  static constexpr int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  std::shared_ptr<void> storage_;
  Device device_;
  std::string purpose_;
  int64_t reserved_ = 0, top_ = 0, high_water_ = 0;
};

/// Frees what was taken in its scope.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  int64_t mark_;
};

}  // namespace zoetrope
