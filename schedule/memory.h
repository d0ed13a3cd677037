// Bytes of a rank as figures that are linear in its caps.
#pragma once

#include <cstdint>

#include "schedule/cluster.h"

namespace zoetrope {

/// Memory of a rank as the model's own figures; all linear.
struct MemoryModel {
  int64_t persistent = 0;  ///< weights, gradients, moments, EMA, prepared forms, arena's fixed part
  int64_t per_token = 0, per_segment = 0;  ///< activations
  int64_t per_cap_token = 0;  ///< fixed areas sized by the token cap: ring buffers, prefetched payload
};

/// Largest token cap whose memory fits `memory_per_rank`; segments are bounded by `max_segments`.
/// Throws: Error with the arithmetic when not even `smallest` tokens fit.
Cluster cluster_for_memory(const MemoryModel& memory, int64_t num_slots, int64_t memory_per_rank,
                           int64_t max_segments, int64_t smallest);
int64_t peak_bytes(const MemoryModel& memory, const Cluster& cluster);

}  // namespace zoetrope
