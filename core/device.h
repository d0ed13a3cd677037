// Devices, streams, events and raw memory. The CPU is always there, runs inline and costs nothing: an event
// of it is always complete. Other devices are used through the table of core/device_backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace zoetrope {

enum class Device { kCpu, kCuda };

/// "cpu", "cuda".
const char* name_of(Device device);
/// The device of a name. Throws: UsageError on any other.
Device device_of(const std::string& name);

/// Ordered queue of operations and transfers on one device; copies are the same queue.
class Stream {
 public:
  /// The device's main queue: operators, and copies that name no stream, go there.
  explicit Stream(Device device = Device::kCpu) : device_(device) {}
  /// A queue beside the main one, ordered with others by events alone; the main queue itself on the CPU.
  static Stream beside(Device device);

  Device device() const { return device_; }
  void* handle() const { return handle_.get(); }  ///< the backend's own; null for the main queue
  /// Waits on the host until everything issued so far is done.
  void synchronize() const {
    if (device_ != Device::kCpu) wait_for_device();
  }

 private:
  void wait_for_device() const;

  Device device_;
  std::shared_ptr<void> handle_;
};

/// A point in a stream that another stream, or the host, can wait for. One that was never recorded is
/// complete.
class Event {
 public:
  /// Marks what the stream was given so far; an earlier mark is forgotten.
  void record(const Stream& stream) {
    if (stream.device() != Device::kCpu) record_on_device(stream);
  }
  /// What the stream is given from now on starts after the mark.
  void wait(const Stream& stream) const {
    if (handle_) wait_on_device(stream);
  }
  /// Waits on the host.
  void synchronize() const;
  bool complete() const;

 private:
  void record_on_device(const Stream& stream);
  void wait_on_device(const Stream& stream) const;

  Device device_ = Device::kCpu;
  std::shared_ptr<void> handle_;
};

/// Owning block of device memory, 64-byte aligned, not initialised.
/// Throws: Error when the device is not built in or memory is out, with the size asked for.
std::shared_ptr<void> allocate(size_t bytes, Device device);

/// One device as its driver describes it.
struct DeviceInfo {
  std::string name;
  int index = 0;
  int64_t total_bytes = 0, free_bytes = 0;
  int multiprocessors = 0;
  int capability_major = 0, capability_minor = 0;
};
/// How many there are. Throws: Error when none is usable, saying why: not built in, no driver, too old a
/// driver.
int device_count(Device device);
/// Makes the calling thread use device `index`: a rank does so once, before anything else.
/// Throws: as device_count, and when there is no such device or it is too old for the kernels built in.
void select_device(Device device, int index);
/// The calling thread's device.
DeviceInfo device_info(Device device);

}  // namespace zoetrope
