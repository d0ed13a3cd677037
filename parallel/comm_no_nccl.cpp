// Stands in for comm_nccl.cpp in a CUDA build without NCCL's header: no transport is registered, and
// `make_device_comm` says so.
#include "parallel/device_comm.h"

namespace zoetrope {

void register_nccl() {}

}  // namespace zoetrope
