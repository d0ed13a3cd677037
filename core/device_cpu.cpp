#include "core/device.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "core/check.h"
#include "core/device_backend.h"

namespace zoetrope {

std::shared_ptr<void> allocate(size_t bytes, Device device) {
  if (device != Device::kCpu) return device_backend(device).allocate(bytes);
  constexpr size_t kHugePage = size_t(2) << 20;  // an entry of the address cache covers 512 times as much
  const bool huge = bytes >= 2 * kHugePage;
  const size_t alignment = huge ? kHugePage : 64;  // else one cache line, and a whole AVX-512 register
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  ZT_REQUIRE(memory != nullptr, "out of memory: ", bytes, " bytes asked for");
  if (huge) (void)madvise(memory, rounded, MADV_HUGEPAGE);  // only advice: without huge pages it is as right
  return std::shared_ptr<void>(memory, [](void* p) { std::free(p); });
}

}  // namespace zoetrope
