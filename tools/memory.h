// Memory of a rank before anything is built: the largest work it will see, the bytes it may use, the caps
// that follow. train, bench and plan derive the same caps from it.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/comm.h"
#include "schedule/cost.h"
#include "schedule/memory.h"
#include "tools/footprint.h"
#include "tools/train_config.h"

namespace zoetrope {

/// Longest and largest things a run will see: they size what is reserved.
struct Workload {
  int64_t longest_sample = 0;    ///< tokens
  int64_t largest_step = 0;      ///< tokens of the largest possible step
  int64_t batch = 1;             ///< samples per step
  int64_t payload_features = 0;  ///< bytes per token of the prefetched payload
  /// Payload of this step and of the prefetched one, outside the arena; no rank holds more than a step. A
  /// GPU's lies in host memory.
  int64_t payload_bytes(Device device) const {
    return device == Device::kCpu ? 2 * largest_step * payload_features : 0;
  }
};

/// Tokens of the `batch` longest samples: no step can be larger (a sample may repeat across an epoch's end).
Workload workload_of(const std::vector<int64_t>& lengths, int64_t batch, int64_t payload_features);

/// Cores of this node divided by its ranks, at least 1, or what the config says.
int threads_per_rank(const ParallelOptions& options, int ranks_on_node);

/// Bytes that a rank may use: the flag, else the cost file's, else the GPU's (`device_memory`), or physical
/// memory / ranks less 20 %.
int64_t memory_limit(const TrainConfig& config, const CostModel& cost, int64_t ranks_on_node);
/// The least of all ranks, once they have started; every rank calls it.
int64_t memory_limit(const TrainConfig& config, const CostModel& cost, Comm& comm);

/// Work space of the operators for this many tokens at a time.
int64_t workspace_bytes(const TrainConfig& config, int num_threads, int64_t tokens);
/// Bytes of a rank as figures linear in its caps. `state_bytes`: parameters, gradients, optimizer;
/// `transport_bytes`: what the ranks' Comm takes of the device.
MemoryModel memory_model_of(const TrainConfig& config, int num_threads, const Workload& workload,
                            int64_t state_bytes, int64_t transport_bytes = 0);
/// The same by parts, from the config alone.
Footprint footprint_of_run(const TrainConfig& config, int num_threads, const Workload& workload);
/// What a run is expected to use, where `memory_model_of` gives what must be reserved: work space as the
/// operators use it on micro-batches of up to `max_tokens`, tensors without padding. `persistent_bytes`:
/// everything outside the arena.
MemoryModel expected_memory(const ModelConfig& model, Precision precision, Device device, int num_threads,
                            int64_t max_tokens, int64_t persistent_bytes, const OpsSettings& settings = {});
/// The caps that training derives from them.
/// Throws: Error with the arithmetic when the longest sample can't fit all ranks together.
Cluster caps_of(const MemoryModel& memory, int64_t num_ranks, const Workload& workload, int64_t memory_bytes);
/// Bytes of parameters, gradients and optimizer without building them.
int64_t state_bytes_of(const TrainConfig& config);

}  // namespace zoetrope
