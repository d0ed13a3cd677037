// Makes Device::kCuda usable in this program.
#pragma once

namespace zoetrope {

/// Called once at start, before anything of the device is used; touches no GPU yet.
void register_cuda_backend();

}  // namespace zoetrope
