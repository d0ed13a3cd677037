// What `zoetrope plan` says of a plan: figures, a table for people, an object for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/planner.h"
#include "schedule/simulate.h"
#include "tools/plan_memory.h"
#include "tools/verdict.h"

namespace zoetrope {

/// A plan with its figures; times in nanoseconds of the cost set.
struct PlanReport {
  std::string planner;
  int64_t cp = 0;  ///< of the static planners; 0: per sample
  Plan plan;
  Makespan makespan;
  int64_t bound_ns = 0, ideal_ns = 0;
  std::vector<int64_t> peak_bytes;  ///< by rank, with pipelines by slot and stage; empty: not known
  double plan_milliseconds = 0;
  int64_t simulated_ns =
      0;  ///< of `simulate`; 0: left out, a static size of very many shards that is not the choice
  LaneFigure exposed_ns, idle_ns;  ///< by rank or stage: exposed transfers; other waits
  double mfu = 0;                  ///< 0: not known
  double moved = 0;                ///< sum of (ring size - 1) x length / sum of lengths
  int64_t split_samples = 0, largest_ring = 1;
  bool fastest = false, smallest = false;  ///< among the feasible sizes of a static planner
  std::vector<int64_t> slower_cp;  ///< of the fastest: larger sizes that were not planned, slower for sure
  /// Makespan / bound.
  double ratio() const { return bound_ns > 0 ? double(makespan.total_ns) / double(bound_ns) : 1; }
  /// Ideal / makespan, and the most that the bound leaves of it.
  double efficiency() const {
    return makespan.total_ns > 0 ? double(ideal_ns) / double(makespan.total_ns) : 1;
  }
  double ceiling() const { return bound_ns > 0 ? double(ideal_ns) / double(bound_ns) : 1; }
};

/// The problem that is planned.
struct PlanProblem {
  std::vector<int64_t> lengths, samples;  ///< tokens, and numbers in the data set or file
  CostModel cost;
  Cluster cluster;
  int64_t step = 0;    ///< its number in the order that steps are drawn in
  int64_t stages = 1;  ///< more than 1: the cluster's slots are pipelines of so many stages, run 1F1B
  PlanMemory memory;
  int64_t epoch_samples = 0, epoch_ideal_ns = 0;  ///< of the data set or file that steps are drawn from
};

/// "free" or "waves", as in flags and files.
const char* name_of(Execution execution);
/// That, or "pipeline".
const char* execution_name(const PlanProblem& problem);
/// Throws: UsageError that lists the two.
Execution execution_of(const std::string& name);

/// The problem's pipelines.
PipelineShape shape_of(const PlanProblem& problem);
/// The plan on paper, on ranks or on pipelines of the problem's stages.
Simulation simulate(const PlanProblem& problem, const Plan& plan);
/// What the plan takes, and the lower bound for `lengths`, as the problem's ranks or pipelines run.
Makespan makespan_of(const PlanProblem& problem, const Plan& plan);
int64_t bound_of(const PlanProblem& problem, const std::vector<int64_t>& lengths);

/// Plans, times one run of the planner alone, and measures the plan. Planner `pipeline` plans for stages;
/// with stages, `ideal_ns` and busy times are those of a stage. Throws: Error naming the sample that fits
/// nowhere.
PlanReport report_plan(const PlanProblem& problem, const PlanRequest& request);
/// The same after one planning that isn't timed: the first call of a process pays for page faults. For a
/// static planner without a size: one report per feasible size, the fastest marked; sizes of very many shards
/// have none where their work alone takes longer than another size. Throws: Error too when a plan of one size
/// has more shards than can be planned within seconds.
std::vector<PlanReport> report_planner(const PlanProblem& problem, const PlanRequest& request);
/// One report per planner, in their order: of the fastest size where several are there.
std::vector<const PlanReport*> fastest_sizes(const std::vector<PlanReport>& reports);
/// The report of the fastest size, or the only one.
const PlanReport& fastest_of(const std::vector<PlanReport>& reports);

/// One line per report under a heading.
std::string summary_table(const std::vector<PlanReport>& reports);
/// What every rank holds in every wave.
std::string rank_table(const PlanProblem& problem, const PlanReport& report);
/// One line per step and planner, and each planner's sums; `steps` holds the reports of consecutive steps.
std::string steps_table(const std::vector<std::vector<PlanReport>>& steps, int64_t first_step);
/// The report as a JSON object, with the verdict when there is one.
std::string report_json(const PlanProblem& problem, const PlanReport& report,
                        const Verdict* verdict = nullptr);

}  // namespace zoetrope
