// The emulated devices as tests and kernel launches see them: fresh devices, memory figures, what is still
// queued. Host code of the project sees the CUDA calls of tests/simt/include alone.
#pragma once

#include <cstdint>
#include <string>

namespace simt {

struct DeviceOptions {
  int devices = 1;
  /// 0: operations of all streams run in issue order, threads of kernels in that of `order_seed`. Others: at
  /// random among those that may run, and kernels in a random thread order.
  uint64_t seed = 0;
  int64_t capacity_bytes = int64_t(8) << 30;  ///< per device; allocations beyond it fail
  int compute_major = 9, compute_minor = 0;
  int driver_version = 13000;
  int64_t nccl_connection_bytes = 4096;  ///< device memory that NCCL takes for one connection to a peer
  double patience_seconds = 60;          ///< a wait without any progress fails after this long
};

/// Forgets all devices, streams, events and memory, and the error that stopped them.
/// Returns: what had been left: allocations, streams and operations that nobody waited for; empty if nothing.
std::string reset_devices(const DeviceOptions& options = {});

/// Device memory in bytes as asked for.
struct MemoryUse {
  int64_t allocations = 0, bytes = 0, peak_bytes = 0;
};
MemoryUse memory_use(int device);
/// The peak is counted from now on.
void reset_peak(int device);

/// Operations issued and not yet run, on all streams.
int64_t pending_operations();

}  // namespace simt
