#include "tools/device_backends.h"

namespace zoetrope {

void register_devices() {}

}  // namespace zoetrope
