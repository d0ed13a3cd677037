// Devices, streams, events and raw memory: one header, a source per device. On the CPU a stream runs
// inline, so an event is always complete.
#pragma once

#include <cstddef>
#include <memory>

namespace zoetrope {

enum class Device { kCpu, kCuda };

/// Ordered queue of operations and transfers on one device.
class Stream {
 public:
  explicit Stream(Device device = Device::kCpu) : device_(device) {}
  Device device() const { return device_; }
  /// Waits until everything issued so far is done.
  void synchronize() const {}

 private:
  Device device_;
};

/// A point in a stream that another stream can wait for.
class Event {
 public:
  void record(const Stream&) {}
  void wait(const Stream&) const {}
};

/// Owning block of device memory, 64-byte aligned, not initialised.
/// Throws: Error when the device is not built in or memory is out, with the size asked for.
std::shared_ptr<void> allocate(size_t bytes, Device device);

}  // namespace zoetrope
