// Puts one rank together from a config: pool, arena, operators, parameters, network, flow, optimizer, rings.
// train, sample, heldout and bench share it.
#pragma once

#include <memory>
#include <optional>

#include "core/thread_pool.h"
#include "model/flow.h"
#include "model/optimizer.h"
#include "parallel/comm.h"
#include "parallel/context_attention.h"
#include "parallel/grad_sync.h"
#include "schedule/cost.h"
#include "tools/train_config.h"

namespace zoetrope {

/// Longest and largest things a run will see: they size what is reserved.
struct Workload {
  int64_t longest_sample = 0;   ///< tokens
  int64_t largest_step = 0;     ///< tokens of the largest possible step
  int64_t batch = 1;            ///< samples per step
  int64_t payload_features = 0; ///< bytes per token of the prefetched payload
};

/// Tokens of the `batch` longest samples: no step can be larger (a sample may repeat across an epoch's end).
Workload workload_of(const std::vector<int64_t>& lengths, int64_t batch, int64_t payload_features);

/// Cores of this node divided by its ranks, at least 1, or what the config says.
int threads_per_rank(const ParallelOptions& options, int ranks_on_node);

/// Bytes that a rank may use: the flag, else the cost file's, else physical memory / ranks less 20 %.
int64_t memory_limit(const PlanOptions& options, const CostModel& cost, int64_t ranks_on_node);

/// One rank's whole machinery. Members are in order of construction.
class Rank {
 public:
  /// `cluster`: the caps to size for; empty: derived from `memory_bytes`.
  /// Throws: Error with the arithmetic when the model or its longest sample can't fit.
  Rank(const TrainConfig& config, Comm& comm, int num_threads, const Workload& workload, int64_t memory_bytes,
       std::optional<Cluster> cluster = std::nullopt);

  /// Highest use of the arena so far plus everything persistent: what the memory model must predict.
  int64_t peak_bytes() const { return arena.high_water_bytes() + persistent_bytes; }

  Comm& comm;
  Precision precision;
  ThreadPool pool;
  Arena arena;
  std::unique_ptr<Ops> ops;
  Parameters parameters;
  Optimizer optimizer;
  MemoryModel memory;
  Cluster cluster;
  int64_t persistent_bytes = 0;
  ContextAttention attention;
  GradientSync sync;
  ParameterSource source;
  WidthShard width;
  BlockRange blocks;
  Dit dit;
  Flow flow;

 private:
  Cluster size_arena(const TrainConfig& config, const Workload& workload, int64_t memory_bytes,
                     std::optional<Cluster> given);
};

}  // namespace zoetrope
