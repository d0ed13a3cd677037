#include "core/big_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace zoetrope {

void prefer_big_pages(void* memory, size_t bytes) {
  constexpr size_t kWorthIt = 8 << 20;
  if (bytes < kWorthIt) return;
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (uintptr_t(memory) + page - 1) / page * page, end = uintptr_t(memory) + bytes;
  madvise(reinterpret_cast<void*>(begin), (end - begin) / page * page, MADV_HUGEPAGE);
}

namespace {
constexpr size_t kBigPage = 2 << 20;
}

BigPages::BigPages(size_t bytes) : mapped_((bytes + kBigPage - 1) / kBigPage * kBigPage + kBigPage) {
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base_ == MAP_FAILED) throw std::bad_alloc();
  data_ = reinterpret_cast<uint8_t*>((uintptr_t(base_) + kBigPage - 1) / kBigPage * kBigPage);
  madvise(data_, mapped_ - kBigPage, MADV_HUGEPAGE);  // a hint: small pages do as well
}
BigPages::~BigPages() { munmap(base_, mapped_); }

}  // namespace zoetrope
