// The CUDA side of core/device.h.
#pragma once

#include "core/device_backend.h"

namespace zoetrope {

/// Functions for `register_device(Device::kCuda, ...)`.
DeviceBackend cuda_device_backend();

}  // namespace zoetrope
