// A whole training step on one GPU through the path that `zoetrope train` takes: forward, full recompute,
// backward, gradient norm, AdamW and EMA, on made-up tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/ops/types.h"

namespace zoetrope {

struct StepCase {
  std::string name;
  ModelConfig model;
  std::vector<int64_t> lengths;  ///< tokens of each sample
  double goal = 0;               ///< MFU; 0: none is set
  int64_t steps = 5;             ///< that are timed, after two
  OpsSettings settings = {};     ///< whose attention runs
};

/// What a step took. MFU = 3 x forward FLOPs / time / the data sheet's dense bf16 rate, recompute not
/// counted.
struct StepFigures {
  std::string name, how;  ///< how it differs from what was asked for
  int64_t parameters = 0, tokens = 0, samples = 0;
  double seconds = 0, spread = 0, flops = 0, peak = 0, goal = 0;
  double matrix_rate = 0;       ///< measured in the same run
  int64_t predicted_bytes = 0;  ///< by the memory model
  int64_t used_bytes = 0;       ///< persistent state and the arena's high-water mark
  int64_t driver_bytes = 0;     ///< that the device had less than before
  std::string left_out;         ///< not empty: not measured, and why
  double mfu() const { return peak > 0 && seconds > 0 ? flops / seconds / peak : 0; }
  double tokens_per_second() const { return seconds > 0 ? double(tokens) / seconds : 0; }
  bool misses() const { return left_out.empty() && goal > 0 && mfu() < goal; }
};

/// Wan 2.1 1.3B with full recompute; the embedded default model.
ModelConfig wan_1_3b();
ModelConfig tiny_model();

/// Dense bf16 FLOP/s of the data sheet for a device name as the driver tells it; 0: not known.
double data_sheet_rate(const std::string& device);

/// Runs the steps in bf16. Where memory lacks samples are shortened to a half, as often as it takes, and
/// `how` says so.
StepFigures measure_step(const StepCase& step);

}  // namespace zoetrope
