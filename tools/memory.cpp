#include "tools/memory.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/check.h"
#include "model/dit.h"
#include "model/ops/ops.h"
#include "model/ops/workspace.h"
#include "model/params.h"
#include "parallel/context_attention.h"
#include "tools/rank_device.h"

namespace zoetrope {

int64_t workspace_bytes(const TrainConfig& config, int num_threads, int64_t tokens) {
  return ops_workspace_bytes(device_of(config.numerics.device), num_threads, tokens, config.model.width,
                             config.model.ffn, config.model.head_width(),
                             Precision::from_name(config.numerics.precision).compute,
                             settings_of(config.numerics));
}

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

int64_t memory_limit(const TrainConfig& config, const CostModel& cost, int64_t ranks_on_node) {
  if (config.plan.memory_per_rank > 0) return config.plan.memory_per_rank;
  if (cost.memory_per_rank > 0) return cost.memory_per_rank;
  const Device device = device_of(config.numerics.device);
  if (device != Device::kCpu) return device_memory(device, 0);
  const int64_t physical = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return physical / std::max<int64_t>(1, ranks_on_node) / 10 * 8;
}

int64_t memory_limit(const TrainConfig& config, const CostModel& cost, Comm& comm) {
  const Device device = device_of(config.numerics.device);
  const bool given = config.plan.memory_per_rank > 0 || cost.memory_per_rank > 0;
  const int64_t own = given || device == Device::kCpu ? memory_limit(config, cost, comm.size())
                                                      : device_memory(device, comm.device_bytes());
  return int64_t(-comm.all_reduce_max(-double(own)));  // far below 2^53
}

MemoryModel memory_model_of(const TrainConfig& config, int num_threads, const Workload& workload,
                            int64_t state_bytes, int64_t transport_bytes) {
  const Precision precision = Precision::from_name(config.numerics.precision);
  const ActivationBytes activations = activation_bytes(config.model, precision);
  const auto workspace = [&](int64_t tokens) {
    return ops_workspace_in_use(device_of(config.numerics.device), num_threads, tokens, config.model.width,
                                config.model.ffn, config.model.head_width(), precision.compute,
                                settings_of(config.numerics));
  };
  // Note [Work space of any micro-batch]: the larger of figures that are constant, grow up to some thousand
  // rows and then are constant, or are linear. So it stays below the one at kMany tokens, where the second
  // kind is at its most, and the last kind's slope on top; the library's scratchpad is the fourth kind.
  constexpr int64_t kProbe = 1 << 24, kMany = 1 << 13, kLibrary = 1 << 20;
  const int64_t workspace_per_token = (workspace(2 * kProbe) - workspace(kProbe) + kProbe - 1) / kProbe;
  const int64_t library = device_of(config.numerics.device) == Device::kCpu ? num_threads * kLibrary : 0;
  const int64_t workspace_fixed = std::max(workspace(kMany), library);
  const int64_t ring_fixed = ContextAttention::buffer_bytes(config.model, precision, 0);
  const int64_t ring_per_token =
      (ContextAttention::buffer_bytes(config.model, precision, kProbe) - ring_fixed + kProbe - 1) / kProbe;
  MemoryModel memory;
  memory.persistent = state_bytes + transport_bytes + ring_fixed +
                      workload.payload_bytes(device_of(config.numerics.device)) + activations.fixed +
                      workspace_fixed;
  memory.per_token = activations.per_token + workspace_per_token;
  memory.per_segment = activations.per_segment;
  memory.per_cap_token = ring_per_token;
  memory.recomputes_all = config.model.recompute;
  return memory;
}

Footprint footprint_of_run(const TrainConfig& config, int num_threads, const Workload& workload) {
  const Precision precision = Precision::from_name(config.numerics.precision);
  const int64_t state = state_bytes_of(config);
  const MemoryModel memory = memory_model_of(config, num_threads, workload, state);
  const std::vector<Parameter> list = list_parameters(config.model);
  Footprint parts;
  parts.activations = memory;
  parts.gradients = (list.back().offset + list.back().size) * int64_t(size_of(precision.wide));
  parts.optimizer = (config.optimisation.ema_decay > 0 ? 3 : 2) * parts.gradients;
  parts.weights = state - parts.gradients - parts.optimizer;
  parts.buffers = ContextAttention::buffer_bytes(config.model, precision, 0) +
                  workload.payload_bytes(device_of(config.numerics.device));
  parts.buffers_per_cap_token = memory.per_cap_token;
  parts.workspace = memory.persistent - state - parts.buffers;
  return parts;
}

MemoryModel expected_memory(const ModelConfig& model, Precision precision, Device device, int num_threads,
                            int64_t max_tokens, int64_t persistent_bytes, const OpsSettings& settings) {
  const ActivationBytes activations = activation_bytes(model, precision);
  return {persistent_bytes + ops_workspace_in_use(device, num_threads, max_tokens, model.width, model.ffn,
                                                  model.head_width(), precision.compute, settings),
          activations.per_token, activations.per_segment};
}

Cluster caps_of(const MemoryModel& memory, int64_t num_ranks, const Workload& workload,
                int64_t memory_bytes) {
  const int64_t smallest = (workload.longest_sample + num_ranks - 1) / num_ranks;
  Cluster caps = cluster_for_memory(memory, num_ranks, memory_bytes, workload.batch, smallest);
  caps.tokens_per_slot = std::min(caps.tokens_per_slot, workload.largest_step);
  return caps;
}

int64_t state_bytes_of(const TrainConfig& config) {
  const Precision precision = Precision::from_name(config.numerics.precision);
  const std::vector<Parameter> list = list_parameters(config.model);
  const int64_t count = list.back().offset + list.back().size;
  const int64_t copies = config.optimisation.ema_decay > 0 ? 3 : 2;  // two moments, the moving average
  return parameter_bytes(config.model, precision, device_of(config.numerics.device)) +
         copies * count * int64_t(size_of(precision.wide));
}

}  // namespace zoetrope
