#include "core/device.h"

#include "core/check.h"
#include "core/device_backend.h"

namespace zoetrope {

const char* name_of(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

Device device_of(const std::string& name) {
  for (const Device device : {Device::kCpu, Device::kCuda})
    if (name == name_of(device)) return device;
  throw UsageError("device '" + name + "': must be cpu or cuda");
}

Stream Stream::beside(Device device) {
  Stream stream(device);
  if (device != Device::kCpu) stream.handle_ = device_backend(device).make_stream();
  return stream;
}

void Stream::wait_for_device() const { device_backend(device_).synchronize_stream(handle()); }

void Event::record_on_device(const Stream& stream) {
  const DeviceBackend& backend = device_backend(stream.device());
  device_ = stream.device();
  if (!handle_) handle_ = backend.make_event();
  backend.record_event(handle_.get(), stream.handle());
}

void Event::wait_on_device(const Stream& stream) const {
  // A stream of the CPU is the host itself.
  if (stream.device() == Device::kCpu) return synchronize();
  device_backend(device_).wait_event(handle_.get(), stream.handle());
}

void Event::synchronize() const {
  if (handle_) device_backend(device_).synchronize_event(handle_.get());
}

bool Event::complete() const { return !handle_ || device_backend(device_).event_complete(handle_.get()); }

int device_count(Device device) { return device == Device::kCpu ? 1 : device_backend(device).device_count(); }

void select_device(Device device, int index) {
  if (device != Device::kCpu) return device_backend(device).select_device(index);
  ZT_CHECK(index == 0, "cpu ", index, " of 1");
}

DeviceInfo device_info(Device device) {
  if (device == Device::kCpu) return {.name = "cpu"};
  return device_backend(device).device_info();
}

}  // namespace zoetrope
