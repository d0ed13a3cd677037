// How ranks with a device each reach one another: the library of a transport plugs itself in, so that
// programs without it link and run.
#pragma once

#include <memory>

#include "parallel/comm.h"

namespace zoetrope {

using MakeDeviceComm = std::unique_ptr<Comm> (*)(Comm& host, double timeout_seconds);
/// Called once at start, before any rank uses the device.
void register_device_comm(Device device, MakeDeviceComm make);

/// Plugs NCCL in for GPUs, where the program was built with it.
void register_nccl();

/// The Comm of ranks that compute on `device`, each with its own selected: `host` itself for the CPU and for
/// one rank, else the transport between devices. Every rank calls it. `host` outlives the result.
/// `timeout_seconds`: a transfer between devices that takes longer ends the run. Throws: Error when this
/// build has no such transport, or its library can't be loaded.
std::unique_ptr<Comm> make_device_comm(Device device, Comm& host, double timeout_seconds);

}  // namespace zoetrope
