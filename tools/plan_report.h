// What `zoetrope plan` says of a plan: figures, a table for people, an object for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/planner.h"

namespace zoetrope {

/// A plan with its figures; times in nanoseconds of the cost set.
struct PlanReport {
  std::string planner;
  int64_t cp = 0;  ///< of the static planners; 0: per sample
  Plan plan;
  Makespan makespan;
  int64_t bound_ns = 0, ideal_ns = 0;
  double plan_milliseconds = 0;
  double moved = 0;  ///< sum of (ring size - 1) x length / sum of lengths
  int64_t split_samples = 0, largest_ring = 1;
  bool fastest = false, smallest = false;  ///< among the feasible sizes of a static planner
  /// Makespan / bound.
  double ratio() const { return bound_ns > 0 ? double(makespan.total_ns) / double(bound_ns) : 1; }
};

/// The problem that is planned.
struct PlanProblem {
  std::vector<int64_t> lengths, samples;  ///< tokens, and numbers in the data set or file
  CostModel cost;
  Cluster cluster;
};

/// Plans and measures. For a static planner without a size: one report per feasible size.
/// Throws: Error naming the sample that fits nowhere.
std::vector<PlanReport> report_planner(const PlanProblem& problem, const PlanRequest& request);

/// One line per report under a heading.
std::string summary_table(const std::vector<PlanReport>& reports);
/// What every rank holds in every wave.
std::string rank_table(const PlanProblem& problem, const PlanReport& report);
/// The report as a JSON object.
std::string report_json(const PlanProblem& problem, const PlanReport& report);

}  // namespace zoetrope
