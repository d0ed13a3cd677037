#include "model/ops/cuda/register.h"
#include "tools/device_backends.h"

namespace zoetrope {

void register_devices() { register_cuda_backend(); }

}  // namespace zoetrope
