#include "tools/rank_device.h"

#include <cstdlib>

#include "core/device.h"

namespace zoetrope {
namespace {

/// Number of this rank on its node, as Open MPI, MPICH's relatives or Slurm tell it.
int rank_on_node(const Comm& comm) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return comm.rank();
}

}  // namespace

void start_device(const TrainConfig& config, const Comm& comm) {
  const Device device = device_of(config.numerics.device);
  if (device == Device::kCpu) return;
  select_device(device, rank_on_node(comm));
  ZT_REQUIRE(comm.size() == 1, "--device cuda on ", comm.size(),
             " ranks: transfers between GPUs need NCCL, which ",
             "this version does not have yet; use one rank, or --device cpu");
}

ClockNs clock_of(Device device, int num_threads) {
  return device == Device::kCpu ? work_clock(num_threads) : &wall_ns;
}

int64_t device_memory(Device device) { return device_info(device).free_bytes / 100 * 95; }

void require_device_memory(const MemoryModel& memory, const Cluster& caps, int64_t state_bytes,
                           Device device) {
  if (device == Device::kCpu) return;
  const DeviceInfo info = device_info(device);
  const int64_t needed = peak_bytes(memory, caps);
  ZT_REQUIRE(needed <= info.free_bytes, "too little memory on GPU ", info.index, " (", info.name,
             "): ", info.free_bytes, " of ", info.total_bytes, " bytes are free, a rank needs ", needed, ": ",
             state_bytes, " for parameters, gradients and optimizer, ", needed - state_bytes,
             " for micro-batches of up to ", caps.tokens_per_slot, " tokens and ", caps.segments_per_slot,
             " samples; end what else runs on it, or lower --memory-per-rank, or take more ranks");
}

}  // namespace zoetrope
