#include "model/ops/cuda/register.h"
#include "parallel/device_comm.h"
#include "tools/device_backends.h"

namespace zoetrope {

void register_devices() {
  register_cuda_backend();
  register_nccl();
}

}  // namespace zoetrope
