// Puts one rank together from a config: pool, arena, operators, parameters, network, flow, optimizer, rings.
// train, sample, heldout and bench share it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/thread_pool.h"
#include "model/flow.h"
#include "model/optimizer.h"
#include "parallel/comm.h"
#include "parallel/context_attention.h"
#include "parallel/grad_sync.h"
#include "schedule/cost.h"
#include "tools/memory.h"
#include "tools/train_config.h"
#include "video/store/dataset.h"

namespace zoetrope {

/// Makes operators that pass their calls on to the given ones, to watch them.
using WrapOps = std::function<std::unique_ptr<Ops>(std::unique_ptr<Ops>)>;

/// One rank's whole machinery. Members are in order of construction.
class Rank {
 public:
  /// `cluster`: the caps to size for; empty: derived from `memory_bytes`. `wrap`: what stands before the
  /// operators. `watch`: the parameter source instead of one that does nothing. Throws: Error with the
  /// arithmetic when the model or its longest sample can't fit.
  Rank(const TrainConfig& config, Comm& comm, int num_threads, const Workload& workload, int64_t memory_bytes,
       std::optional<Cluster> cluster = std::nullopt, const WrapOps& wrap = nullptr,
       ParameterSource* watch = nullptr);

  /// Highest use of the arena so far plus everything persistent: what the memory model must predict.
  int64_t peak_bytes() const { return arena.high_water_bytes() + persistent_bytes; }
  /// The memory model's prediction of it after steps with this plan alone.
  int64_t predicted_peak_bytes(const Plan& plan) const;

  Comm& comm;
  Precision precision;
  Device device;
  ThreadPool pool;
  Arena arena;
  OpsSettings settings;
  std::unique_ptr<Ops> ops;
  Parameters parameters;
  Optimizer optimizer;
  MemoryModel memory;
  int64_t persistent_bytes = 0;
  Cluster cluster;  ///< its initialisation sets the two above
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

/// Throws: Error naming the data set's folder and both patches when the model has another one.
void require_same_patch(const ModelConfig& model, const Dataset& dataset, const std::string& folder);

}  // namespace zoetrope
