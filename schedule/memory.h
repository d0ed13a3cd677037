// Bytes of a rank as figures that are linear in what it holds: caps that fit, and the peak of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cluster.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Memory of a rank as the model's own figures; all linear.
struct MemoryModel {
  int64_t persistent = 0;  ///< weights, gradients, moments, EMA, prepared forms, arena's fixed part
  int64_t per_token = 0, per_segment = 0;  ///< activations of the micro-batch that runs
  int64_t per_cap_token = 0;  ///< fixed areas sized by the token cap: ring buffers, prefetched payload
  /// Pipelines: activations of each micro-batch between its forward and its backward, the running one
  /// included, and how many of them there are at most.
  int64_t per_held_token = 0, per_held_segment = 0, in_flight = 1;
  bool recomputes_all = false;  ///< backward computes all that it can again: advice for less stops there
};

/// Largest token cap whose memory fits `memory_per_rank`; segments are bounded by `max_segments`.
/// Throws: Error with the arithmetic when not even `smallest` tokens fit.
Cluster cluster_for_memory(const MemoryModel& memory, int64_t num_slots, int64_t memory_per_rank,
                           int64_t max_segments, int64_t smallest);
/// Bytes of a rank whose micro-batches are as large as the caps.
int64_t peak_bytes(const MemoryModel& memory, const Cluster& cluster);

/// Peak bytes of every slot of a plan, at most `peak_bytes` of a cluster whose caps it keeps. Note [Micro-
/// batches in flight] in memory.cpp.
std::vector<int64_t> plan_peak_bytes(const MemoryModel& memory, const Plan& plan, const Cluster& cluster);
/// Throws: Error naming the rank, its bytes and the limit when a plan's peak is above it.
void check_plan_memory(const std::vector<int64_t>& peak_bytes, int64_t limit);

}  // namespace zoetrope
