// A run's folder and what it takes to go on from it: resolved config, command line, versions, and the state
// that a checkpoint carries besides its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.h"
#include "schedule/cost.h"
#include "tools/train_config.h"

namespace zoetrope {

/// The part of a checkpoint that is not tensors. What is here wins over flags on resume.
struct RunState {
  int64_t step = 0, draws = 0;  ///< optimizer steps done; samples drawn so far: the data position
  CostModel cost;
  Cluster cluster;  ///< caps per rank (its slot count is the saving run's)
  int64_t memory_per_rank = 0;
  int64_t ranks = 1, threads_per_rank = 1;
  std::string config_toml;  ///< resolved config
  std::string data_fingerprint, version, kernels;
  std::vector<std::string> changes;  ///< what --change let through, with the step
};

/// State of a checkpoint as JSON text; `run_state_from_json` gives it back exactly.
std::string to_json(const RunState& state);
/// Throws: Error naming `source` and the field.
RunState run_state_from_json(const std::string& text, const std::string& source);

/// Newest complete checkpoint for --resume (`auto` or a path); empty when `auto` finds none in an empty run.
/// Throws: UsageError when RUN holds checkpoints and --resume was not given, or the path is no
/// checkpoint, or RUN holds another one that is not older.
std::string find_resume(const std::string& run, const std::string& resume);

/// Checks a config against the saved one: every [model], [flow], [optimisation], [numerics] value and the
/// batch must agree, and the data set must be the same, unless named in `changes` (cost, memory, config,
/// data). `given`: flags on the command line; a saved cost set or cap that they contradict is an error too.
/// Returns what was changed, for the record. Throws: UsageError naming key, saved and given value.
std::vector<std::string> check_resume(const RunState& saved, const TrainConfig& config,
                                      const std::string& data_fingerprint, const CostModel& given_cost,
                                      const Command& command, const std::vector<std::string>& changes);

/// Creates the folder and saves config.toml, command_line.txt and versions.json (rank 0).
void write_run_files(const std::string& run, const std::string& config_toml,
                     const std::string& data_fingerprint);

/// Removes the oldest checkpoints beyond `keep` (0: none) and temporary folders that a crash left.
void prune_checkpoints(const std::string& run, int64_t keep);

}  // namespace zoetrope
