#include "parallel/device_comm.h"

#include "core/check.h"
#include "parallel/comm_forwarding.h"

namespace zoetrope {
namespace {

MakeDeviceComm& cuda_slot() {
  static MakeDeviceComm make = nullptr;
  return make;
}

}  // namespace

void register_device_comm(Device device, MakeDeviceComm make) {
  ZT_CHECK(device == Device::kCuda, "the ", name_of(device), " needs no transport of its own");
  cuda_slot() = make;
}

std::unique_ptr<Comm> make_device_comm(Device device, Comm& host, double timeout_seconds) {
  if (device == Device::kCpu || host.size() == 1) return std::make_unique<ForwardingComm>(host);
  ZT_REQUIRE(
      cuda_slot() != nullptr, "--device cuda on ", host.size(),
      " ranks: this build has no NCCL, over which GPUs reach each other; install NCCL's header (nccl.h) and "
      "configure again, or use one rank, or --device cpu");
  return cuda_slot()(host, timeout_seconds);
}

}  // namespace zoetrope
