#include <sys/mman.h>
#include <algorithm>
#include <cstring>
#include <new>

#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"

namespace simt {
namespace {

constexpr size_t kGuardBytes = 1024;
constexpr unsigned char kNaN = 0xff, kGuard = 0xa5;

/// The shared memory of the block that runs; a shared address is an offset in it.
unsigned char* window() {
  static unsigned char* const memory = [] {
    void* pages = mmap(nullptr, kMostSharedBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<unsigned char*>(pages);
  }();
  return memory;
}

size_t available() { return machine.shape->dynamic_shared_bytes; }

std::string of_available() {
  return " of " + std::to_string(available()) + " bytes of dynamic shared memory";
}

}  // namespace

void start_shared(size_t bytes) {
  unsigned char* memory = window();
  sanitizer::unpoison(memory, kMostSharedBytes + kGuardBytes);
  std::memset(memory, kNaN, bytes);
  std::memset(memory + bytes, kGuard, kGuardBytes);
  sanitizer::poison(memory + bytes, kMostSharedBytes + kGuardBytes - bytes);
}

void finish_shared() {
  const size_t bytes = available();
  if (sanitizer::kAddress) return;
  const unsigned char* guard = window() + bytes;
  const auto* hit =
      std::find_if(guard, guard + kGuardBytes, [](unsigned char byte) { return byte != kGuard; });
  if (hit == guard + kGuardBytes) return;
  machine.failed = true;
  machine.failure = std::string(machine.shape->name) + ", block " + text(blockIdx) + ": wrote at offset " +
                    std::to_string(hit - window()) + of_available();
}

void* dynamic_shared(size_t bytes, size_t align, Site site) {
  if (bytes > available())
    fail(site, [=] { return "takes " + std::to_string(bytes) + of_available() + " that the launch gave"; });
  if (align > 1024)
    fail(site, [=] { return "shared memory aligned to " + std::to_string(align) + " bytes, at most 1024"; });
  return window();
}

uint32_t shared_offset(const void* pointer, Site site) {
  const auto* at = static_cast<const unsigned char*>(pointer);
  // One past the end is an address too, though nothing may be read there.
  if (at < window() || at > window() + available())
    fail(site,
         [] { return std::string("__cvta_generic_to_shared of a pointer that is not to shared memory"); });
  return uint32_t(at - window());
}

void* shared_pointer(uint32_t offset, size_t bytes, const char* operation, Site site) {
  if (offset % bytes != 0)
    fail(site, [=] {
      return std::string(operation) + ": shared address " + std::to_string(offset) +
             " is not a multiple of " + std::to_string(bytes);
    });
  if (offset > available() || available() - offset < bytes)
    fail(site, [=] {
      return std::string(operation) + ": " + std::to_string(bytes) + " bytes at offset " +
             std::to_string(offset) + of_available();
    });
  return window() + offset;
}

}  // namespace simt
