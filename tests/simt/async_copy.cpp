// cp.async as its worst: at issue the destination turns to NaN, and the bytes come only with the wait that
// covers the group. So a read before the wait sees NaN, a destination still in use is lost at once, and a
// source that changes before the wait shows too.
#include <algorithm>
#include <cstring>

#include "tests/simt/include/simt_ptx.h"
#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"

namespace simt {
namespace {

constexpr uint32_t kBytes = 16;

void deliver(const AsyncCopy& copy) {
  sanitizer::read(copy.from, copy.bytes, copy.caller);
  sanitizer::write(copy.to, kBytes, copy.caller);
  auto* to = static_cast<unsigned char*>(copy.to);
  const auto* from = static_cast<const unsigned char*>(copy.from);
  for (uint32_t i = 0; i < kBytes; ++i) to[i] = i < copy.bytes ? from[i] : 0;
}

}  // namespace

void copy_async(uint32_t to, const void* from, int bytes, Site site) {
  Thread& thread = *machine.current;
  auto* place = static_cast<unsigned char*>(shared_pointer(to, kBytes, "cp.async", site));
  if (bytes < 0 || bytes > int(kBytes))
    fail(site, [=] { return "cp.async of " + std::to_string(bytes) + " bytes, 0 to 16 are possible"; });
  const uintptr_t source = reinterpret_cast<uintptr_t>(from);
  if (bytes > 0 && source % kBytes != 0)
    fail(site, [=] {
      return "cp.async: source " + std::to_string(source % kBytes) + " bytes past a multiple of 16";
    });
  void* caller = __builtin_return_address(0);
  for (int i = 0; i < bytes; ++i) {
    // Read now too, so that a bad address shows where it was given.
    [[maybe_unused]] const volatile unsigned char byte = static_cast<const volatile unsigned char*>(from)[i];
  }
  sanitizer::write(place, kBytes, caller);
  for (uint32_t i = 0; i < kBytes; ++i) place[i] = 0xff;
  thread.copies.push_back({place, from, uint32_t(bytes), thread.copy_groups, caller, site});
  ++machine.stats.async_copies;
}

void commit_copies() { ++machine.current->copy_groups; }

void wait_copies(int pending, Site) {
  Thread& thread = *machine.current;
  // Groups are in order of issue, so those that the wait covers come first.
  const auto rest = std::find_if(thread.copies.begin(), thread.copies.end(), [&](const AsyncCopy& copy) {
    return copy.group + uint64_t(pending) >= thread.copy_groups;
  });
  for (auto copy = thread.copies.begin(); copy != rest; ++copy) deliver(*copy);
  thread.copies.erase(thread.copies.begin(), rest);
  switch_point();
}

void check_exit_of_copies(const Thread& thread) {
  if (!thread.copies.empty())
    fail(thread.copies.front().site, [&] {
      return "exits before it has waited for " + std::to_string(thread.copies.size()) + " of its cp.async";
    });
}

}  // namespace simt
