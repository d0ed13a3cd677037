// Memory of a plan before anything is rented or built: which bytes a rank takes, which caps follow, what the
// plan's fullest ranks hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.h"
#include "tools/footprint.h"
#include "tools/memory.h"

namespace zoetrope {

/// Flags of `zoetrope plan` on what is trained, and how.
struct PlannedModel {
  std::string model, recompute_mode, shard = "none";
  /// Declares them.
  void add_to(OptionSet& options);
  bool is_given() const { return !model.empty(); }
  /// Throws: UsageError when a flag is given that only --model reads, or when they don't fit together.
  void check(bool free_was_given, int64_t stages) const;
  Recompute recompute(const ModelConfig& config) const;
  Sharding sharding() const;
  /// True where all ranks go through a micro-batch together: gradients or weights are divided.
  bool is_in_lock_step() const { return sharding() >= Sharding::kGradients; }
  NetworkShape network(const ModelConfig& config) const;
};

/// What a rank of each stage takes, and what it may take. No stages: not known.
struct PlanMemory {
  std::vector<Footprint> stages;
  int64_t limit = 0;
  std::string limit_source;
  bool shards_all = false;  ///< ranks divide all that they can
};

/// The run that the config describes, on this machine's backend.
PlanMemory memory_of_run(const TrainConfig& config, const CostModel& cost, int64_t ranks,
                         const Workload& workload);
/// The model of the flags on processors of the cost set. `precision`: of its products.
/// Throws: UsageError when the bytes of a rank are not known.
PlanMemory memory_of_model(const PlannedModel& model, const TrainConfig& config, const std::string& precision,
                           const CostModel& cost, int64_t ranks, int64_t stages);

/// Caps within the limit: segments get an eighth of what activations may take, tokens the rest; with
/// `given_tokens` that cap, and segments what remains. `workload`: longest sample and samples per step.
/// Throws: Error with the arithmetic and what to do when the longest sample can't fit all ranks together.
Cluster caps_within(const PlanMemory& memory, int64_t ranks, const Workload& workload, int64_t given_tokens);

/// Peak bytes per rank of a plan, by slot and stage. Throws: Error naming a rank above the limit.
std::vector<int64_t> checked_peak_bytes(const PlanMemory& memory, const Plan& plan, const Cluster& cluster);
/// The fullest rank of a plan.
struct FullestRank {
  int64_t slot = 0, stage = 0, peak_bytes = 0;
  std::vector<MemoryPart> parts;
};
/// `peak_bytes`: of `checked_peak_bytes`, not empty.
FullestRank fullest_rank(const PlanMemory& memory, const Cluster& cluster,
                         const std::vector<int64_t>& peak_bytes);
/// The parts of the fullest rank's bytes; empty when they are not known.
std::string memory_text(const PlanMemory& memory, const Cluster& cluster,
                        const std::vector<int64_t>& peak_bytes);

}  // namespace zoetrope
