#include "core/device.h"

#include <cstdlib>
#include <new>

#include "core/check.h"

namespace zoetrope {

std::shared_ptr<void> allocate(size_t bytes, Device device) {
  ZT_REQUIRE(device == Device::kCpu, "this build has no CUDA backend; use --device cpu");
  constexpr size_t kAlignment = 64;  // one cache line, and a whole AVX-512 register
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  ZT_REQUIRE(memory != nullptr, "out of memory: ", bytes, " bytes asked for");
  return std::shared_ptr<void>(memory, [](void* p) { std::free(p); });
}

}  // namespace zoetrope
