// Parts of `zoetrope bench cp`: what runs, what was measured, how it is reported.
#pragma once

#include <string>
#include <vector>

#include "schedule/loader.h"
#include "schedule/replay.h"
#include "tools/bench.h"

namespace zoetrope {

/// One row of the table: a planner, for static ones at one CP size, with its plan of every batch.
struct CpEntry {
  std::string planner;
  int64_t cp = 0;  ///< 0: the planner chooses per sample
  bool is_smallest_that_fits = false;
  std::vector<PlannedStep> steps;          ///< per batch
  std::vector<int64_t> simulated_ns = {};  ///< per batch, in the cost set
  bool is_static() const { return cp > 0; }
};

/// The batches of consecutive draws, planned by every planner; static ones at every CP size that fits all
/// batches. Throws: Error when a planner has no size that fits.
std::vector<CpEntry> plan_entries(const BenchOptions& options, const Dataset& dataset, const CostModel& cost,
                                  const Cluster& cluster);

/// Plans of the same batch that differ from `step`'s only in the order of summation: shards packed in
/// reverse, ranks in reverse, ring shards one token longer or shorter.
std::vector<PlannedStep> summation_variants(const PlannedStep& step, const Cluster& cluster);

/// What one step of one entry showed.
struct CpStep {
  double wall_seconds = 0, wait_seconds = 0;  ///< slowest rank; mean over ranks
  double replay_seconds = 0, replay_wait_seconds = 0;
  double max_over_mean = 1;  ///< of the ranks' compute
  double loss = 0;
};

/// All steps of one entry, [batch][repeat], and the last replay of the first batch.
struct CpMeasurement {
  std::vector<std::vector<CpStep>> steps;
  ReplayResult timeline;
};

/// What holds for all rows.
struct CpSetting {
  int ranks = 1;
  int64_t cores = 1, memory_per_rank = 0, tokens_per_rank = 0, num_steps = 0;
  bool is_wall = true;
  LinkModel link;
  double attention_flops = 0;  ///< of one rank; 0: not measured, the link is as it is
  int64_t link_hides = 0;
  double optimizer_ns = 0;  ///< the cost set's, or measured in this run
  std::string cost_source, precision;
  double loss_tolerance = 0, loss_spread = 0;  ///< relative, largest over batches
};

/// One line of the table.
struct CpRow {
  std::string planner, cp_text, kind;
  int64_t cp = 0;
  bool is_smallest_that_fits = false, is_static = false;
  double step_ms = 0, tokens_per_s = 0, exposed_wait_ms = 0, max_over_mean = 1, makespan_over_bound = 1,
         loss = 0;
  double ratio_to_best_static = 0, ratio_to_best_plain = 0;
  double replay_over_wall = 0;
  double simulated_ms = 0;  ///< of the same plans in the cost set, norm and optimizer included
  double simulated_over_measured = 0;
  double makespan_over_measured = 0;  ///< the same with the cost model's makespan
  double spread = 0;  ///< relative: twice the median deviation of the repeats from their median
};

/// Medians per batch, summed over batches; ratios of tokens/s against the fastest static rows.
std::vector<CpRow> make_rows(const std::vector<CpEntry>& entries, const std::vector<CpMeasurement>& measured,
                             const CpSetting& setting);

/// Whether the cost set puts planners in the order that was measured.
struct CpOrder {
  int64_t pairs = 0;  ///< of rows whose measured times differ by more than 3 % and twice the spread
  int64_t right = 0;  ///< of them
  double least_ratio = 1, largest_ratio = 1;  ///< of simulated to measured times, over all rows
  std::vector<std::string> wrong;             ///< pairs, in words
};
/// Compares every pair of rows.
CpOrder judge_order(const std::vector<CpRow>& rows);

/// Prints the table and what must be known to read it.
void print_rows(const CpSetting& setting, const std::vector<CpRow>& rows);
/// The same as JSON.
std::string rows_to_json(const CpSetting& setting, const std::vector<CpRow>& rows);

/// A self-contained HTML page: every rank's compute and waits over time, an entry below the other.
std::string timeline_html(const std::vector<CpEntry>& entries, const std::vector<CpMeasurement>& measured);

}  // namespace zoetrope
