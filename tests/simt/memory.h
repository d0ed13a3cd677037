// Memory of the emulated devices: who owns an address, and when the host may touch it. For tests/simt alone;
// the machine's lock is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/simt/devices.h"

namespace simt::cuda {

struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
  char* map = nullptr;  ///< with a guard page on both sides
  size_t map_bytes = 0;
  int device = 0;
  int64_t number = 0;
};

/// The device allocation that holds an address; null when there is none.
const Allocation* device_allocation(const void* address);
bool is_device(const void* address);
/// True when all bytes lie in one pinned host allocation.
bool is_pinned(const void* address, size_t bytes);
/// Why [address, address + bytes) is no device memory of one allocation; empty when it is.
std::string device_range_error(const void* address, size_t bytes);
/// Device memory for a library. Returns: null when the capacity does not suffice.
void* take_device_memory(size_t bytes, int device);
void give_device_memory(void* address);

/// Device memory can be read and written from here on, on behalf of `operation`.
void open_memory(const std::string& operation);
/// Back to no access. Returns: a message when bytes around an allocation were overwritten; else empty.
std::string close_memory();

/// Frees device memory; pinned memory stays, for who holds it until the program ends. Returns: what was left.
std::string reset_memory(const DeviceOptions& options);

}  // namespace simt::cuda
