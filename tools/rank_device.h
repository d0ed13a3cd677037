// The device of a rank: chosen before anything is allocated, with errors that say what is missing.
#pragma once

#include <cstdint>
#include <memory>

#include "core/clocks.h"
#include "parallel/comm.h"
#include "schedule/memory.h"
#include "tools/train_config.h"

namespace zoetrope {

/// Makes the config's device this rank's: on GPUs the one of its number on the node. Called first on each
/// rank. Returns: the ranks as that device reaches them, over NCCL between GPUs; `host` outlives it.
/// Throws: Error when it is not built in, without or with too old a driver, with fewer GPUs than ranks, or
/// when several need NCCL and it is not there.
std::unique_ptr<Comm> start_device(const TrainConfig& config, Comm& host);

/// Bytes that a rank may use of its GPU: what is free now, and what its transport has `taken`, less 5 % for
/// the libraries' own.
int64_t device_memory(Device device, int64_t taken);

/// The clock that times work of a rank: of one CPU thread its own (`work_clock`), else the wall clock, which
/// a GPU's work needs a wait for its stream before.
ClockNs clock_of(Device device, int num_threads);

/// Throws: Error with the memory model's figures when the rank's GPU has less free memory than `caps` need.
/// `memory` counts what `comm` took.
void require_device_memory(const MemoryModel& memory, const Cluster& caps, int64_t state_bytes,
                           const Comm& comm, Device device);

}  // namespace zoetrope
