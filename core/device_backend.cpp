#include "core/device_backend.h"

#include <optional>

#include "core/check.h"

namespace zoetrope {
namespace {

std::optional<DeviceBackend>& cuda_slot() {
  static std::optional<DeviceBackend> backend;
  return backend;
}

}  // namespace

void register_device(Device device, const DeviceBackend& backend) {
  ZT_CHECK(device == Device::kCuda, "the ", name_of(device), " has no table of functions");
  cuda_slot() = backend;
}

bool device_registered(Device device) { return device == Device::kCpu || cuda_slot().has_value(); }

const DeviceBackend& device_backend(Device device) {
  ZT_CHECK(device == Device::kCuda, "the ", name_of(device), " has no table of functions");
  ZT_REQUIRE(
      cuda_slot().has_value(),
      "this build has no CUDA backend; use --device cpu, or build with the CUDA toolkit and ZT_CUDA=ON");
  return *cuda_slot();
}

}  // namespace zoetrope
