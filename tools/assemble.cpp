#include "tools/assemble.h"

#include <algorithm>

#include "core/log.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

/// The caps that a run is sized for.
Cluster sized_caps(const MemoryModel& memory, const Comm& comm, const Workload& workload,
                   int64_t memory_bytes, const std::optional<Cluster>& given) {
  Cluster caps = given ? *given : caps_of(memory, comm.size(), workload, memory_bytes);
  caps.num_slots = comm.size();
  caps.tokens_per_slot = std::min(caps.tokens_per_slot, workload.largest_step);
  if (caps.segments_per_slot == 0) caps.segments_per_slot = workload.batch;
  return caps;
}

/// The config's device, after a look at a GPU's memory: before anything is allocated the figures of a run
/// that can't fit are worth more than those of the first tensor that doesn't.
Device device_with_room(const TrainConfig& config, const Comm& comm, int num_threads,
                        const Workload& workload, int64_t memory_bytes, const std::optional<Cluster>& given) {
  const Device device = device_of(config.numerics.device);
  if (device == Device::kCpu) return device;
  const int64_t state = state_bytes_of(config);
  const MemoryModel memory = memory_model_of(config, num_threads, workload, state, comm.device_bytes());
  require_device_memory(memory, sized_caps(memory, comm, workload, memory_bytes, given), state, comm, device);
  return device;
}

}  // namespace

Rank::Rank(const TrainConfig& config, Comm& rank_comm, int num_threads, const Workload& workload,
           int64_t memory_bytes, std::optional<Cluster> given, const WrapOps& wrap, ParameterSource* watch)
    : comm(rank_comm),
      precision(Precision::from_name(config.numerics.precision)),
      device(device_with_room(config, comm, num_threads, workload, memory_bytes, given)),
      pool(num_threads),
      arena(0, device, "activations"),
      settings(settings_of(config.numerics)),
      ops(wrap ? wrap(make_ops(device, pool, arena, settings)) : make_ops(device, pool, arena, settings)),
      parameters(config.model, precision, *ops),
      optimizer(config.optimisation, parameters, *ops),
      cluster(size_arena(config, workload, memory_bytes, given)),
      attention(*ops, comm, arena, config.model, precision, cluster.tokens_per_slot),
      sync(comm, parameters),
      dit(config.model, precision, *ops, parameters,
          ParallelHooks{&attention, &sync, watch ? watch : &source, &width, &blocks}, arena),
      flow(config.flow, config.model, precision, *ops, dit, arena, uint64_t(config.numerics.seed)) {
  const PrecisionSupport support = precision_support(device, precision.compute);
  if (!support.native && comm.rank() == 0) log_warning(support.how);
}

Cluster Rank::size_arena(const TrainConfig& config, const Workload& workload, int64_t memory_bytes,
                         std::optional<Cluster> given) {
  const int64_t state_bytes = parameters.persistent_bytes() + optimizer.persistent_bytes();
  memory = memory_model_of(config, pool.num_threads(), workload, state_bytes, comm.device_bytes());
  const Cluster caps = sized_caps(memory, comm, workload, memory_bytes, given);
  arena.reserve(activation_bytes(config.model, precision).of(caps.tokens_per_slot, caps.segments_per_slot) +
                workspace_bytes(config, pool.num_threads(), caps.tokens_per_slot));
  persistent_bytes = state_bytes + comm.device_bytes() +
                     ContextAttention::buffer_bytes(config.model, precision, caps.tokens_per_slot) +
                     workload.payload_bytes(device);
  return caps;
}

int64_t Rank::predicted_peak_bytes(const Plan& plan) const {
  const MemoryModel expected = expected_memory(dit.config(), precision, device, pool.num_threads(),
                                               max_tokens_per_slot(plan), persistent_bytes, settings);
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
