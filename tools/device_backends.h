// Devices that this program was built with: one of cuda_on.cpp and cuda_off.cpp is linked.
#pragma once

namespace zoetrope {

/// Called first in main.
void register_devices();

}  // namespace zoetrope
