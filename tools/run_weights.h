// A finished or running run, opened for use: its config and weights. sample and heldout share it.
#pragma once

#include <memory>
#include <string>

#include "tools/assemble.h"
#include "tools/run_folder.h"

namespace zoetrope {

/// Device and patience of a command that uses a run; empty and 0: as it was trained.
struct WhereToRun {
  std::string device;
  double transfer_timeout = 0;
};

struct OpenedRun {
  TrainConfig config;
  RunState state;
  std::string checkpoint;
  std::unique_ptr<Comm> transport;  ///< of the rank
  std::unique_ptr<Rank> rank;
  bool used_ema = false;
};

/// The newest complete checkpoint of a run, or `run` itself when it is a checkpoint folder.
/// Throws: Error naming the folder when there is none.
std::string newest_checkpoint(const std::string& run);

/// The config that a checkpoint was made with.
TrainConfig config_of(const RunState& state, const std::string& checkpoint);

/// Loads the newest checkpoint of a run (or the checkpoint folder itself), on its EMA when it has one.
/// Throws: Error naming the folder when there is none, or when `longest_sample` does not fit the memory.
/// `where`: instead of the training's.
OpenedRun open_weights(const std::string& run, Comm& host, int64_t longest_sample, int64_t num_samples,
                       const WhereToRun& where);

}  // namespace zoetrope
