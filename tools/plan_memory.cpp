#include "tools/plan_memory.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/data_sheets.h"
#include "tools/metrics.h"
#include "tools/ranges.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const NetworkShape& shape : network_shapes()) names.push_back(shape.name);
  names.push_back("config");
  return names;
}

/// Most segments of a micro-batch that `bytes` hold in every stage.
int64_t segments_within(const PlanMemory& memory, int64_t cap_tokens, int64_t share, int64_t most) {
  int64_t segments = most;
  for (const Footprint& stage : memory.stages) {
    const MemoryModel model = stage.memory();
    const int64_t each = model.per_segment + model.in_flight * model.per_held_segment;
    const int64_t left = memory.limit - peak_bytes(model, {1, cap_tokens, 0});
    if (each > 0) segments = std::min(segments, std::max<int64_t>(0, left) / share / each);
  }
  return segments;
}

Cluster smallest_caps(const PlanMemory& memory, int64_t ranks, int64_t segments, int64_t smallest) {
  Cluster caps{ranks, INT64_MAX, segments};
  for (const Footprint& stage : memory.stages)
    caps.tokens_per_slot =
        std::min(caps.tokens_per_slot,
                 cluster_for_memory(stage.memory(), ranks, memory.limit, segments, smallest).tokens_per_slot);
  return caps;
}

}  // namespace

void PlannedModel::add_to(OptionSet& options) {
  options.add_flag("model", model,
                   "plan memory and time of this network in bf16 on the processors of --cost, not of the run "
                   "that the\nconfig describes; 'config': the network of [model]",
                   model_names());
  options.add_flag("recompute-mode", recompute_mode,
                   "what --model's backward computes again: nothing, all but attention, or all",
                   {"none", "selective", "full"});
  options.add_flag("shard", shard,
                   "what --model's ranks divide: nothing, the optimizer (ZeRO-1), gradients too (ZeRO-2), "
                   "weights too (ZeRO-3);\nthe last two run in waves",
                   {"none", "optimizer", "gradients", "all"});
}

void PlannedModel::check(bool free_was_given, int64_t stages) const {
  require_usage(is_given() || (recompute_mode.empty() && shard == "none"),
                "plan: --recompute-mode and --shard are of --model NAME; give it, or 'recompute' in [model]");
  require_usage(!is_in_lock_step() || !free_was_given, "plan: --shard ", shard,
                " makes all ranks go through each micro-batch together; leave --execution free out");
  require_usage(!is_in_lock_step() || stages == 1,
                "plan: pipelines of --stages divide at most the optimizer; give ",
                "--shard optimizer or none");
}

Recompute PlannedModel::recompute(const ModelConfig& config) const {
  if (recompute_mode == "none") return Recompute::kNone;
  if (recompute_mode == "selective") return Recompute::kSelective;
  if (recompute_mode.empty() && model == "config")
    return config.recompute ? Recompute::kSelective : Recompute::kNone;
  return Recompute::kFull;
}

Sharding PlannedModel::sharding() const {
  if (shard == "optimizer") return Sharding::kOptimizer;
  if (shard == "gradients") return Sharding::kGradients;
  return shard == "all" ? Sharding::kAll : Sharding::kNone;
}

NetworkShape PlannedModel::network(const ModelConfig& config) const {
  return model == "config" ? network_shape_of(config) : find_network_shape(model);
}

PlanMemory memory_of_run(const TrainConfig& config, const CostModel& cost, int64_t ranks,
                         const Workload& workload) {
  const int threads = threads_per_rank(config.parallel, int(ranks));
  PlanMemory memory;
  memory.stages = {footprint_of_run(config, threads, workload)};
  memory.limit = memory_limit(config, cost, ranks);
  memory.limit_source = join_message("from ", memory.limit, " bytes per rank");
  return memory;
}

PlanMemory memory_of_model(const PlannedModel& model, const TrainConfig& config, const std::string& precision,
                           const CostModel& cost, int64_t ranks, int64_t stages) {
  TrainingShape training;
  training.network = model.network(config.model);
  training.dit = model.model == "config"           ? config.model
                 : training.network.vocabulary > 0 ? ModelConfig()
                                                   : dit_config(training.network);
  training.precision = Precision::from_name(precision);
  training.recompute = model.recompute(config.model);
  training.sharding = model.sharding();
  training.ema = config.optimisation.ema_decay > 0;
  training.ranks = ranks;
  training.stages = stages;
  PlanMemory memory;
  memory.stages = footprints_of(training);
  memory.shards_all = training.sharding == Sharding::kAll;
  memory.limit = config.plan.memory_per_rank > 0 ? config.plan.memory_per_rank : cost.memory_per_rank;
  if (memory.limit == 0) memory.limit = data_sheet_memory(cost);
  require_usage(memory.limit > 0, "plan: cost set '", cost.name,
                "' says no memory of a rank; give --memory-per-rank BYTES");
  memory.limit_source = join_message(model.model, " from ", memory.limit, " bytes per rank");
  return memory;
}

Cluster caps_within(const PlanMemory& memory, int64_t ranks, const Workload& workload, int64_t given_tokens) {
  const int64_t smallest = (workload.longest_sample + ranks - 1) / ranks;
  try {
    if (given_tokens > 0) {
      const int64_t segments = segments_within(memory, given_tokens, 1, workload.batch);
      if (segments == 0)
        throw Error(join_message("plan: --tokens-per-rank ", given_tokens, " takes more than the ",
                                 memory.limit, " bytes of a rank; at most ",
                                 smallest_caps(memory, ranks, 1, 1).tokens_per_slot, " tokens fit"));
      return {ranks, given_tokens, segments};
    }
    constexpr int64_t kShare = 8;
    const int64_t segments = std::max<int64_t>(1, segments_within(memory, 0, kShare, workload.batch));
    Cluster caps{ranks, 0, segments};
    try {
      caps = smallest_caps(memory, ranks, segments, smallest);
    } catch (const Error&) { caps = smallest_caps(memory, ranks, 1, smallest); }
    caps.tokens_per_slot = std::min(caps.tokens_per_slot, workload.largest_step);
    return caps;
  } catch (const UsageError&) { throw; } catch (const Error& error) {
    const Footprint& first = memory.stages.front();
    throw Error(join_message(
        error.what(), "; of the persistent bytes weights are ", bytes_text(first.weights), ", gradients ",
        bytes_text(first.gradients), ", the optimizer ", bytes_text(first.optimizer),
        memory.shards_all ? "" : ": --shard divides them over the ranks, --stages over stages"));
  }
}

std::vector<int64_t> checked_peak_bytes(const PlanMemory& memory, const Plan& plan, const Cluster& cluster) {
  const size_t stages = memory.stages.size();
  std::vector<int64_t> peaks(size_t(cluster.num_slots) * stages);
  for (size_t stage = 0; stage < stages; ++stage) {
    const std::vector<int64_t> slots = plan_peak_bytes(memory.stages[stage].memory(), plan, cluster);
    for (size_t slot = 0; slot < slots.size(); ++slot) peaks[slot * stages + stage] = slots[slot];
  }
  check_plan_memory(peaks, memory.limit);
  return peaks;
}

FullestRank fullest_rank(const PlanMemory& memory, const Cluster& cluster,
                         const std::vector<int64_t>& peak_bytes) {
  const auto fullest = std::max_element(peak_bytes.begin(), peak_bytes.end());
  const int64_t rank = fullest - peak_bytes.begin(), stages = int64_t(memory.stages.size());
  const Footprint& footprint = memory.stages[size_t(rank % stages)];
  return {rank / stages, rank % stages, *fullest, memory_parts(footprint, cluster.tokens_per_slot, *fullest)};
}

std::string memory_text(const PlanMemory& memory, const Cluster& cluster,
                        const std::vector<int64_t>& peak_bytes) {
  if (peak_bytes.empty()) return "";
  const FullestRank rank = fullest_rank(memory, cluster, peak_bytes);
  return join_message("\nfullest rank: ", rank.slot,
                      memory.stages.size() > 1 ? join_message(", stage ", rank.stage) : "", "\n") +
         footprint_table(memory.stages[size_t(rank.stage)], cluster.tokens_per_slot, rank.peak_bytes,
                         memory.limit);
}

}  // namespace zoetrope
