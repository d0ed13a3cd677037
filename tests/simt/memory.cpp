#include "tests/simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "tests/simt/fault_handler.h"
#include "tests/simt/runtime.h"
#include "tests/simt/sanitizer.h"

namespace simt::cuda {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kAlignment = 256;      // what cudaMalloc promises
constexpr unsigned char kUnset = 0xFF;  // a NaN in f32, bf16 and f64

struct Pinned {
  size_t bytes = 0;
  char* memory = nullptr;  // null when only registered
};

struct Memory {
  std::map<uintptr_t, Allocation> allocations;  // by their first byte
  std::map<uintptr_t, Pinned> pinned;
  std::vector<MemoryUse> use;
  int64_t count = 0;
  bool open = false;
};
Memory& memory() {
  static Memory* one = new Memory;
  return *one;
}
uintptr_t number_of(const void* address) { return reinterpret_cast<uintptr_t>(address); }

void protect(const Allocation& a, int protection) {
  mprotect(a.map + kPage, a.map_bytes - 2 * kPage, protection);
}

/// Addresses without access for an allocation with its guard pages. What lies between those of a large one is
/// made of huge pages where the system has them: access to it is granted and taken away around each
/// operation, which takes 7 ms for the 16,384 small pages of a backend's workspace. Null when there are none
/// left.
char* reserve(size_t bytes) {
  const size_t slack = bytes >= 2 * kHugePage ? kHugePage : 0;
  void* map = mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(map);
  if (slack == 0) return begin;
  const size_t before = (kHugePage - (number_of(begin) + kPage) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (slack > before) munmap(begin + before + bytes, slack - before);
  madvise(begin + before + kPage, bytes - 2 * kPage, MADV_HUGEPAGE);  // if not, it is slower
  return begin + before;
}

/// The bytes between an allocation and its guard pages, where nobody may write.
void poison(const Allocation& a) {
  sanitizer::poison(a.map + kPage, size_t(a.begin - (a.map + kPage)));
  sanitizer::poison(a.begin + a.bytes, size_t(a.map + a.map_bytes - kPage - (a.begin + a.bytes)));
}

std::string overrun_of(const Allocation& a) {
  if (sanitizer::kAddress) return "";  // which reports it at once, and forbids to look
  const auto is_set = [](char byte) { return static_cast<unsigned char>(byte) != kUnset; };
  const bool before = std::any_of(a.map + kPage, a.begin, is_set);
  const bool after = std::any_of(a.begin + a.bytes, a.map + a.map_bytes - kPage, is_set);
  if (!before && !after) return "";
  return std::string("bytes ") + (before ? "before" : "after") + " device allocation #" +
         std::to_string(a.number) + " of " + std::to_string(a.bytes) + " bytes were overwritten";
}

}  // namespace

const Allocation* device_allocation(const void* address) {
  const auto& all = memory().allocations;
  auto next = all.upper_bound(number_of(address));
  if (next == all.begin()) return nullptr;
  const Allocation& a = std::prev(next)->second;
  return number_of(address) < number_of(a.map) + a.map_bytes ? &a : nullptr;
}
bool is_device(const void* address) { return device_allocation(address) != nullptr; }

bool is_pinned(const void* address, size_t bytes) {
  const auto& all = memory().pinned;
  auto next = all.upper_bound(number_of(address));
  if (next == all.begin()) return false;
  const auto& [begin, pinned] = *std::prev(next);
  return number_of(address) + bytes <= begin + pinned.bytes;
}

std::string device_range_error(const void* address, size_t bytes) {
  const Allocation* a = device_allocation(address);
  std::ostringstream out;
  if (a == nullptr) out << "address " << address << " is in no device allocation";
  else if (number_of(address) + bytes > number_of(a->begin) + a->bytes)
    out << bytes << " bytes from byte " << number_of(address) - number_of(a->begin)
        << " run over the end of device allocation #" << a->number << " of " << a->bytes << " bytes";
  return out.str();
}

void* take_device_memory(size_t bytes, int device) {
  MemoryUse& use = memory().use[size_t(device)];
  if (use.bytes + int64_t(bytes) > runtime().options.capacity_bytes) return nullptr;
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Allocation a;
  a.bytes = bytes;
  a.device = device;
  a.number = ++memory().count;
  a.map_bytes = (rounded + kPage - 1) / kPage * kPage + 2 * kPage;
  a.map = reserve(a.map_bytes);
  if (a.map == nullptr) return nullptr;
  a.begin = a.map + a.map_bytes - kPage - rounded;  // the end touches the guard page, but for the alignment
  protect(a, PROT_READ | PROT_WRITE);
  std::memset(a.map + kPage, kUnset, a.map_bytes - 2 * kPage);
  poison(a);
  if (!memory().open) protect(a, PROT_NONE);
  watch_faults(a);
  memory().allocations[number_of(a.begin)] = a;
  ++use.allocations;
  use.bytes += int64_t(bytes);
  use.peak_bytes = std::max(use.peak_bytes, use.bytes);
  return a.begin;
}

void give_device_memory(void* address) {
  const auto found = memory().allocations.find(number_of(address));
  const Allocation a = found->second;
  memory().allocations.erase(found);
  forget_faults(a);
  sanitizer::unpoison(a.map, a.map_bytes);
  munmap(a.map, a.map_bytes);
  MemoryUse& use = memory().use[size_t(a.device)];
  --use.allocations;
  use.bytes -= int64_t(a.bytes);
}

void open_memory(const std::string& operation) {
  set_running_operation(operation.c_str());
  if (memory().open) return;
  memory().open = true;
  for (const auto& [begin, a] : memory().allocations) protect(a, PROT_READ | PROT_WRITE);
}

std::string close_memory() {
  if (!memory().open) return "";
  std::string overrun;
  for (const auto& [begin, a] : memory().allocations) {
    if (overrun.empty()) overrun = overrun_of(a);
    protect(a, PROT_NONE);
  }
  memory().open = false;
  set_running_operation(nullptr);
  return overrun;
}

std::string reset_memory(const DeviceOptions& options) {
  std::ostringstream left;
  for (const auto& [begin, a] : memory().allocations)
    left << "device allocation #" << a.number << " of " << a.bytes << " bytes on device " << a.device
         << " was not freed\n";
  while (!memory().allocations.empty()) give_device_memory(memory().allocations.begin()->second.begin);
  for (const auto& [begin, pinned] :
       memory().pinned)  // buffers that a backend keeps as long as its device lives
    if (pinned.memory != nullptr) munmap(pinned.memory, pinned.bytes);
  memory().pinned.clear();
  memory().use.assign(size_t(options.devices), {});
  memory().count = 0;
  return left.str();
}

namespace {

/// Pinned memory, page-aligned as the real one; registered memory belongs to somebody else.
cudaError_t pin(void* registered, size_t bytes, void** out) {
  Pinned pinned{bytes, nullptr};
  if (registered == nullptr) {
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return refuse(cudaErrorMemoryAllocation, bytes, " bytes of pinned memory");
    std::memset(map, kUnset, bytes);
    pinned.memory = static_cast<char*>(map);
    *out = map;
  }
  memory().pinned[number_of(registered ? registered : *out)] = pinned;
  return cudaSuccess;
}

}  // namespace
}  // namespace simt::cuda

using namespace simt::cuda;

namespace simt {

MemoryUse memory_use(int device) {
  const Lock lock(runtime().mutex);
  return memory().use.at(size_t(device));
}
void reset_peak(int device) {
  const Lock lock(runtime().mutex);
  MemoryUse& use = memory().use.at(size_t(device));
  use.peak_bytes = use.bytes;
}

}  // namespace simt

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return call([&](Runtime& m, Lock&) {
    if (devPtr == nullptr) return refuse(cudaErrorInvalidValue, "cudaMalloc into a null pointer");
    *devPtr = nullptr;
    if (size == 0) return cudaSuccess;
    *devPtr = take_device_memory(size, current_device());
    if (*devPtr == nullptr)
      return refuse(cudaErrorMemoryAllocation, size, " bytes asked for, ",
                    m.options.capacity_bytes - memory().use[size_t(current_device())].bytes, " of ",
                    m.options.capacity_bytes, " free on device ", current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* devPtr) {
  return call([&](Runtime& m, Lock& lock) {
    if (devPtr == nullptr) return cudaSuccess;
    const auto found = memory().allocations.find(number_of(devPtr));
    if (found == memory().allocations.end())
      return refuse(cudaErrorInvalidValue, "cudaFree of ", devPtr, ", which cudaMalloc did not return");
    const cudaError_t drained = m.drain(lock, found->second.device);  // as the real one does
    if (drained == cudaSuccess) give_device_memory(devPtr);
    return drained;
  });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int) {
  return call([&](Runtime&, Lock&) {
    if (pHost == nullptr) return refuse(cudaErrorInvalidValue, "cudaHostAlloc into a null pointer");
    *pHost = nullptr;
    return size == 0 ? cudaSuccess : pin(nullptr, size, pHost);
  });
}
cudaError_t cudaMallocHost(void** ptr, size_t size) { return cudaHostAlloc(ptr, size, 0); }

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int) {
  return call([&](Runtime&, Lock&) {
    if (ptr == nullptr || size == 0 || is_device(ptr))
      return refuse(cudaErrorInvalidValue, "cudaHostRegister of ", ptr, ", ", size, " bytes");
    if (memory().pinned.count(number_of(ptr)) > 0)
      return refuse(cudaErrorHostMemoryAlreadyRegistered, ptr, " is registered already");
    return pin(ptr, size, nullptr);
  });
}

namespace {
cudaError_t unpin(void* ptr, bool owned, cudaError_t unknown) {
  return call([&](Runtime& m, Lock& lock) {
    if (ptr == nullptr && owned) return cudaSuccess;
    const auto found = memory().pinned.find(number_of(ptr));
    if (found == memory().pinned.end() || (found->second.memory != nullptr) != owned)
      return refuse(unknown, ptr, " is no pinned memory of that kind");
    const cudaError_t drained = m.drain(lock, -1);  // as the real one does
    const Pinned pinned = found->second;
    memory().pinned.erase(number_of(ptr));
    if (pinned.memory) munmap(pinned.memory, pinned.bytes);
    return drained;
  });
}
}  // namespace

cudaError_t cudaFreeHost(void* ptr) { return unpin(ptr, true, cudaErrorInvalidValue); }
cudaError_t cudaHostUnregister(void* ptr) { return unpin(ptr, false, cudaErrorHostMemoryNotRegistered); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&](Runtime& m, Lock&) {
    *total = size_t(m.options.capacity_bytes);
    *free = size_t(m.options.capacity_bytes - memory().use[size_t(current_device())].bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return call([&](Runtime&, Lock&) {
    *attributes = {};
    void* address = const_cast<void*>(ptr);
    if (const Allocation* a = device_allocation(ptr))
      *attributes = {cudaMemoryTypeDevice, a->device, address, nullptr, {}};
    else if (is_pinned(ptr, 1)) *attributes = {cudaMemoryTypeHost, current_device(), address, address, {}};
    else *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address, {}};
    return cudaSuccess;
  });
}
