// How a training run starts: flags, run folder, resume, first parameters, and what it says about itself.
#pragma once

#include <string>
#include <vector>

#include "schedule/planner.h"
#include "tools/assemble.h"
#include "tools/run_folder.h"
#include "video/store/dataset.h"

namespace zoetrope {

struct TrainSetup {
  TrainConfig config;
  std::string run, resume;
  int64_t steps = 0;
  std::vector<std::string> changes;
  Command command;         ///< to ask which flags were given
  RunState state;          ///< as saved, or fresh
  std::string checkpoint;  ///< folder resumed from; empty: fresh

  bool resumed() const { return !checkpoint.empty(); }
  /// Whether the caps are the checkpoint's; --change memory derives them anew.
  bool caps_given() const { return resumed() && state.cluster.tokens_per_slot > 0; }
  /// Step after which this call ends: --steps, else the schedule's length.
  int64_t last_step() const { return steps > 0 ? steps : config.optimisation.steps; }
  PlanRequest plan_request() const { return {config.plan.planner, config.plan.cp, config.plan.bags}; }
  /// Throws: UsageError naming the flag that is missing or makes no sense.
  void check_flags() const;
};

/// Finds the checkpoint to go on from, settles cost set, caps and threads, and writes the run's files.
void open_run(TrainSetup& setup, const Dataset& dataset, Comm& comm);
/// Seeded initialisation, or the checkpoint's tensors; prepares the weights.
void start_parameters(const TrainSetup& setup, Rank& rank);
/// Prints what the run is: data, model, ranks, memory, cost set, planner (rank 0).
void announce(const TrainSetup& setup, const Dataset& dataset, const Rank& rank);
/// After a killed rank: says where the run goes on.
void announce_restart(const std::string& run);

/// The cost set of a run: --cost, else RUN/cost.toml, else the built-in one. `source` says which.
CostModel settle_cost(const PlanOptions& options, const std::string& run, std::string* source);

}  // namespace zoetrope
