#include "tools/assemble.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/log.h"

namespace zoetrope {

Workload workload_of(const std::vector<int64_t>& lengths, int64_t batch, int64_t payload_features) {
  ZT_REQUIRE(batch >= 1, "'batch' is ", batch, ", expected at least 1");
  ZT_REQUIRE(!lengths.empty(), "the data set holds no clips");
  std::vector<int64_t> longest = lengths;
  std::sort(longest.rbegin(), longest.rend());
  Workload workload{longest.front(), 0, batch, payload_features};
  // A batch that crosses epoch ends draws every sample at most ceil(batch / samples) + 1 times.
  const int64_t samples = int64_t(longest.size()), repeats = (batch + samples - 1) / samples + 1;
  for (int64_t taken = 0, i = 0; taken < batch; ++i) {
    const int64_t times = std::min(batch - taken, repeats);
    workload.largest_step += times * longest[size_t(std::min(i, samples - 1))];
    taken += times;
  }
  return workload;
}

int threads_per_rank(const ParallelOptions& options, int ranks_on_node) {
  if (options.threads_per_rank > 0) return int(options.threads_per_rank);
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  return std::max(1, cores / std::max(1, ranks_on_node));
}

int64_t memory_limit(const PlanOptions& options, const CostModel& cost, int64_t ranks_on_node) {
  if (options.memory_per_rank > 0) return options.memory_per_rank;
  if (cost.memory_per_rank > 0) return cost.memory_per_rank;
  const int64_t physical = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return physical / std::max<int64_t>(1, ranks_on_node) / 10 * 8;
}

Rank::Rank(const TrainConfig& config, Comm& rank_comm, int num_threads, const Workload& workload,
           int64_t memory_bytes, std::optional<Cluster> given)
    : comm(rank_comm),
      precision(Precision::from_name(config.numerics.precision)),
      pool(num_threads),
      arena(0, Device::kCpu, "activations"),
      ops(make_ops(Device::kCpu, pool, arena)),
      parameters(config.model, precision, *ops),
      optimizer(config.optimisation, parameters, *ops),
      cluster(size_arena(config, workload, memory_bytes, given)),
      attention(*ops, comm, arena, config.model, precision, cluster.tokens_per_slot),
      sync(comm, parameters),
      dit(config.model, precision, *ops, parameters, ParallelHooks{&attention, &sync, &source, &width, &blocks}, arena),
      flow(config.flow, config.model, precision, *ops, dit, arena, uint64_t(config.numerics.seed)) {
  const PrecisionSupport support = precision_support(Device::kCpu, precision.compute);
  if (!support.native && comm.rank() == 0) log_warning(support.how);
}

Cluster Rank::size_arena(const TrainConfig& config, const Workload& workload, int64_t memory_bytes,
                         std::optional<Cluster> given) {
  const ActivationBytes activations = activation_bytes(config.model, precision);
  const auto workspace = [&](int64_t tokens) {
    return ops_workspace_bytes(Device::kCpu, pool.num_threads(), tokens, config.model.width, config.model.ffn,
                               config.model.head_width(), precision.compute);
  };
  constexpr int64_t kProbe = 1 << 20;  // work space is linear in tokens: two points give the line
  const int64_t workspace_per_token = std::max<int64_t>(0, (workspace(2 * kProbe) - workspace(kProbe)) / kProbe);
  const int64_t ring_fixed = ContextAttention::buffer_bytes(config.model, precision, 0);
  const int64_t ring_per_token =
      (ContextAttention::buffer_bytes(config.model, precision, kProbe) - ring_fixed + kProbe - 1) / kProbe;
  // The payload of this step and of the prefetched one lies outside the arena; no rank holds more than a step.
  const int64_t payload = 2 * workload.largest_step * workload.payload_features;

  memory.persistent = parameters.persistent_bytes() + optimizer.persistent_bytes() + ring_fixed + payload +
                      activations.fixed + std::max<int64_t>(0, workspace(kProbe) - workspace_per_token * kProbe);
  memory.per_token = activations.per_token + workspace_per_token;
  memory.per_segment = activations.per_segment;
  memory.per_cap_token = ring_per_token;

  const int64_t smallest = (workload.longest_sample + comm.size() - 1) / comm.size();
  Cluster caps = given ? *given
                       : cluster_for_memory(memory, comm.size(), memory_bytes, workload.batch, smallest);
  caps.num_slots = comm.size();
  caps.tokens_per_slot = std::min(caps.tokens_per_slot, workload.largest_step);
  if (caps.segments_per_slot == 0) caps.segments_per_slot = workload.batch;
  arena.reserve(activations.of(caps.tokens_per_slot, caps.segments_per_slot) + workspace(caps.tokens_per_slot));
  persistent_bytes = parameters.persistent_bytes() + optimizer.persistent_bytes() +
                     ContextAttention::buffer_bytes(config.model, precision, caps.tokens_per_slot) + payload;
  return caps;
}

}  // namespace zoetrope
