// The device of a rank: chosen before anything is allocated, with errors that say what is missing.
#pragma once

#include <cstdint>

#include "core/clocks.h"
#include "parallel/comm.h"
#include "schedule/memory.h"
#include "tools/train_config.h"

namespace zoetrope {

/// Makes the config's device this rank's: on GPUs the one of its number on the node. Called first on each
/// rank. Throws: Error when it is not built in, without or with too old a driver, or with fewer GPUs than
/// ranks.
void start_device(const TrainConfig& config, const Comm& comm);

/// Bytes that a rank may use of its GPU: what is free now, less 5 % for the libraries' own.
int64_t device_memory(Device device);

/// The clock that times work of a rank: of one CPU thread its own (`work_clock`), else the wall clock, which
/// a GPU's work needs a wait for its stream before.
ClockNs clock_of(Device device, int num_threads);

/// Throws: Error with the memory model's figures when the rank's GPU has less free memory than `caps` need.
void require_device_memory(const MemoryModel& memory, const Cluster& caps, int64_t state_bytes,
                           Device device);

}  // namespace zoetrope
