#include "tools/rank_device.h"

#include <cstdlib>

#include "core/device.h"
#include "parallel/device_comm.h"

namespace zoetrope {
namespace {

/// Number of this rank on its node, as Open MPI, MPICH's relatives or Slurm tell it.
int rank_on_node(const Comm& comm) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return comm.rank();
}

}  // namespace

std::unique_ptr<Comm> start_device(const TrainConfig& config, Comm& host) {
  const Device device = device_of(config.numerics.device);
  if (device != Device::kCpu) select_device(device, rank_on_node(host));
  return make_device_comm(device, host, config.parallel.transfer_timeout);
}

ClockNs clock_of(Device device, int num_threads) {
  return device == Device::kCpu ? work_clock(num_threads) : &wall_ns;
}

int64_t device_memory(Device device, int64_t taken) {
  return (device_info(device).free_bytes + taken) / 100 * 95;
}

void require_device_memory(const MemoryModel& memory, const Cluster& caps, int64_t state_bytes,
                           const Comm& comm, Device device) {
  if (device == Device::kCpu) return;
  const DeviceInfo info = device_info(device);
  const int64_t needed = peak_bytes(memory, caps) - comm.device_bytes();  // which are taken already
  const std::string taken = comm.device_bytes() > 0 ? join_message(", NCCL has taken ", comm.device_bytes(),
                                                                   " for its connections and sums")
                                                    : "";
  ZT_REQUIRE(needed <= info.free_bytes, "too little memory on GPU ", info.index, " (", info.name,
             "): ", info.free_bytes, " of ", info.total_bytes, " bytes are free", taken, ", a rank needs ",
             needed, ": ", state_bytes, " for parameters, gradients and optimizer, ", needed - state_bytes,
             " for micro-batches of up to ", caps.tokens_per_slot, " tokens and ", caps.segments_per_slot,
             " samples; end what else runs on it, or lower --memory-per-rank, or take more ranks");
}

}  // namespace zoetrope
