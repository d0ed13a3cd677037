// Ranks as threads that have a device each and reach each other over NCCL.
#pragma once

#include <functional>

#include "parallel/comm_nccl.h"
#include "tests/cuda/devices.h"

namespace zoetrope::test {

/// Runs `body` on as many ranks as devices are wished for; what it made is gone, on all ranks, before a
/// rank's transport ends.
inline void run_nccl_ranks(const DeviceWish& wish, const NcclOptions& options,
                           const std::function<void(NcclComm&)>& body) {
  start_devices(wish);
  run_local_ranks(wish.count, [&](Comm& host) {
    select_device(Device::kCuda, host.rank());
    NcclComm comm(host, options);
    body(comm);
    host.barrier();
  });
}

}  // namespace zoetrope::test
