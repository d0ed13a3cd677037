// What a training step reports: one line on the terminal, one in metrics.jsonl, scalars for TensorBoard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/tensorboard.h"

namespace zoetrope {

struct StepMetrics {
  int64_t step = 0;  ///< counted from 1: steps done
  double loss = 0, grad_norm = 0, learning_rate = 0, step_ms = 0;
  int64_t tokens = 0;
  double tokens_per_s = 0;
  std::optional<double> gemm_share;  ///< of the measured GEMM peak; empty without a measured cost file
  double makespan_over_bound = 0, rank_max_over_mean = 0, exposed_wait_ms = 0, plan_ms = 0;
  std::vector<int64_t> cp_sizes;
  int64_t peak_bytes = 0, rss_bytes = 0;
  int64_t predicted_peak_bytes = 0;  ///< by the memory model, of the plans so far
};

/// The line of metrics.jsonl, without a newline.
std::string to_json_line(const StepMetrics& metrics);
/// The line on the terminal.
std::string to_text_line(const StepMetrics& metrics, int64_t last_step, double seconds_left);
/// "1.3G"-like text of bytes.
std::string bytes_text(int64_t bytes);
/// Highest resident memory of this process so far, in bytes.
int64_t resident_bytes();

/// Appends to RUN/metrics.jsonl and RUN/tensorboard. On resume lines after `resumed_step` and a torn last
/// line are cut off, so that a step appears once.
class MetricsWriter {
 public:
  MetricsWriter(const std::string& run, int64_t resumed_step);
  /// One step as one line, flushed.
  void write(const StepMetrics& metrics);

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  TensorBoardWriter tensorboard_;
};

}  // namespace zoetrope
