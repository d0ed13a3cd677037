// What a device besides the CPU does for core/device.h and core/tensor.h: a table of functions that its
// library registers at start, so that programs without it link and run.
#pragma once

#include "core/device.h"

namespace zoetrope {

/// A block of rows in memory: `rows` rows of `row_bytes`, their starts `stride_bytes` apart.
struct RowBlock {
  void* data = nullptr;
  size_t stride_bytes = 0, row_bytes = 0, rows = 0;
};

/// Functions of one device; streams and events are its own handles. Any may throw Error.
struct DeviceBackend {
  std::shared_ptr<void> (*allocate)(size_t bytes);
  /// In stream order, the host goes on at once; the bytes of `from` may change as soon as it returns.
  void (*copy_from_host)(const RowBlock& to, const RowBlock& from, void* stream);
  /// Returns when the bytes are there.
  void (*copy_to_host)(const RowBlock& to, const RowBlock& from, void* stream);
  void (*copy_on_device)(const RowBlock& to, const RowBlock& from, void* stream);
  void (*fill_zero)(const RowBlock& block, void* stream);

  std::shared_ptr<void> (*make_stream)();
  void (*synchronize_stream)(void* stream);
  std::shared_ptr<void> (*make_event)();
  void (*record_event)(void* event, void* stream);
  void (*wait_event)(void* event, void* stream);
  void (*synchronize_event)(void* event);
  bool (*event_complete)(void* event);

  int (*device_count)();
  void (*select_device)(int index);
  DeviceInfo (*device_info)();
};

/// Called once at start, before any thread uses the device.
void register_device(Device device, const DeviceBackend& backend);
bool device_registered(Device device);
/// Throws: Error when the program was built without the device.
const DeviceBackend& device_backend(Device device);

}  // namespace zoetrope
