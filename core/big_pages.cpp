#include "core/big_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace zoetrope {

void prefer_big_pages(void* memory, size_t bytes) {
  constexpr size_t kWorthIt = 8 << 20;
  if (bytes < kWorthIt) return;
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (uintptr_t(memory) + page - 1) / page * page, end = uintptr_t(memory) + bytes;
  madvise(reinterpret_cast<void*>(begin), (end - begin) / page * page, MADV_HUGEPAGE);
}

}  // namespace zoetrope
