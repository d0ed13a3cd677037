#include "tools/assemble.h"

#include <algorithm>

#include "core/log.h"

namespace zoetrope {

Rank::Rank(const TrainConfig& config, Comm& rank_comm, int num_threads, const Workload& workload,
           int64_t memory_bytes, std::optional<Cluster> given, const WrapOps& wrap, ParameterSource* watch)
    : comm(rank_comm),
      precision(Precision::from_name(config.numerics.precision)),
      pool(num_threads),
      arena(0, Device::kCpu, "activations"),
      ops(wrap ? wrap(make_ops(Device::kCpu, pool, arena)) : make_ops(Device::kCpu, pool, arena)),
      parameters(config.model, precision, *ops),
      optimizer(config.optimisation, parameters, *ops),
      cluster(size_arena(config, workload, memory_bytes, given)),
      attention(*ops, comm, arena, config.model, precision, cluster.tokens_per_slot),
      sync(comm, parameters),
      dit(config.model, precision, *ops, parameters,
          ParallelHooks{&attention, &sync, watch ? watch : &source, &width, &blocks}, arena),
      flow(config.flow, config.model, precision, *ops, dit, arena, uint64_t(config.numerics.seed)) {
  const PrecisionSupport support = precision_support(Device::kCpu, precision.compute);
  if (!support.native && comm.rank() == 0) log_warning(support.how);
}

Cluster Rank::size_arena(const TrainConfig& config, const Workload& workload, int64_t memory_bytes,
                         std::optional<Cluster> given) {
  const int64_t state_bytes = parameters.persistent_bytes() + optimizer.persistent_bytes();
  memory = memory_model_of(config, pool.num_threads(), workload, state_bytes);
  Cluster caps = given ? *given : caps_of(memory, comm.size(), workload, memory_bytes);
  caps.num_slots = comm.size();
  caps.tokens_per_slot = std::min(caps.tokens_per_slot, workload.largest_step);
  if (caps.segments_per_slot == 0) caps.segments_per_slot = workload.batch;
  arena.reserve(activation_bytes(config.model, precision).of(caps.tokens_per_slot, caps.segments_per_slot) +
                workspace_bytes(config, pool.num_threads(), caps.tokens_per_slot));
  persistent_bytes = state_bytes +
                     ContextAttention::buffer_bytes(config.model, precision, caps.tokens_per_slot) +
                     workload.payload_bytes();
  return caps;
}

int64_t Rank::predicted_peak_bytes(const Plan& plan) const {
  const MemoryModel expected = expected_memory(dit.config(), precision, pool.num_threads(),
                                               max_tokens_per_slot(plan), persistent_bytes);
  return plan_peak_bytes(expected, plan, cluster)[size_t(comm.rank())];
}

void require_same_patch(const ModelConfig& model, const Dataset& dataset, const std::string& folder) {
  const Patch patch = dataset.patch();
  ZT_REQUIRE(model.patch == (std::vector<int64_t>{patch.t, patch.h, patch.w}), "data set '", folder,
             "' was made with patch ", patch.t, ",", patch.h, ",", patch.w, ", the model has ",
             model.patch[0], ",", model.patch[1], ",", model.patch[2],
             " (config 'model.patch'); run `zoetrope ingest` with --patch, or change the config");
}

}  // namespace zoetrope
