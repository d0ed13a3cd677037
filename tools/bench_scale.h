// bench scale: what ring sizes per sample would give on pools of 8 to 16,384 GPUs, simulated layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// What is studied: each cost set with each trace on each pool.
struct ScaleBench {
  std::vector<int64_t> gpus{8, 16, 24, 32, 64, 96, 128, 256, 512, 1024, 1536, 2048, 4096, 8192, 16384};
  std::vector<std::string> costs{"h100:wan-1.3b", "h100"}, traces{"t2", "t9"};
  /// The global batch grows with the pool, so that a GPU's share of the work stays; 4 fill the 65,536 samples
  /// that a step may have on 16,384 GPUs.
  int64_t samples_per_gpu = 4;
  int64_t tokens_per_rank = 20480;  ///< as in the figures for video traces of the cost sets
  uint64_t seed = 0;
  bool prints = true;
};

/// A planner's sums over the steps of a pool.
struct ScalePlanner {
  std::string planner;
  int64_t total_ns = 0, simulated_ns = 0;  ///< in the cost model that plans are made by, and layer by layer
  std::vector<int64_t> cp_sizes = {};      ///< of static planners: the best of each step
  double plan_ms = 0;  ///< of a step, on average; of static planners with the search for the best size
  double exposed = 0, idle = 0, mfu = 0;  ///< simulated: shares of a rank's step, and of the peak
  std::string failure = {};               ///< why it has no plan; empty: it has
};

/// One cost set, trace and pool.
struct ScaleRow {
  std::string cost, trace;
  int64_t gpus = 0, samples = 0;  ///< of a step
  int64_t steps = 0;              ///< small pools: several, so that no single batch decides
  int64_t left_out = 0;           ///< further steps with a sample that the whole pool can't hold
  int64_t longest_left_out = 0;
  int64_t bound_ns = 0, ideal_ns = 0;
  std::vector<ScalePlanner> planners;  ///< static, static-balanced, greedy-waves, elastic
  /// Throws: Error for another name.
  const ScalePlanner& planner(const std::string& name) const;
  /// Simulated time of the planner / that of elastic; 0: one of them has no plan.
  double speed_up(const std::string& over) const;
  double planned_speed_up(const std::string& over) const;  ///< the same in the cost model
  double ratio() const;                                    ///< elastic / bound, in the cost model
};

/// Steps of a pool of `gpus`: eight where the batch is small, one from 512 GPUs on at 4 samples each.
int64_t scale_steps(int64_t samples);

/// Plans all, with a line each as it comes. Throws: UsageError for names that there are none of.
std::vector<ScaleRow> run_bench_scale(const ScaleBench& bench);

/// All figures as JSON; a page with plots; a table in Markdown.
std::string scale_json(const ScaleBench& bench, const std::vector<ScaleRow>& rows);
std::string scale_html(const ScaleBench& bench, const std::vector<ScaleRow>& rows);
std::string scale_markdown(const std::vector<ScaleRow>& rows);

}  // namespace zoetrope
