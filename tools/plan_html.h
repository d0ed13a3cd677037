// zoetrope plan --html: one page that shows what the command found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/simulate.h"
#include "tools/plan_report.h"
#include "tools/svg.h"

namespace zoetrope {

/// What the page shows.
struct PlanPage {
  PlanProblem problem;  ///< of the first step
  std::string source, cap_source;
  int64_t first_step = 0;
  std::vector<std::vector<PlanReport>> steps;  ///< the first step's plans are drawn
  std::string failures;                        ///< a line for each planner without a plan
  std::optional<Verdict> verdict;
};

/// The page, self-contained. Times are of the cost model, waits and shares of the peak of `simulate`.
std::string plan_html(const PlanPage& page);

/// Lanes to draw, and what to say of them when they are not all.
struct DrawnLanes {
  std::vector<GanttLane> lanes;
  std::string note;
};
/// All lanes of up to 64; else some at equal distances, the busiest and the least busy ones.
DrawnLanes drawn_lanes(const Simulation& simulation);

/// The table of planners and the sums over steps; the lengths; `sums` has a row per planner.
std::string planner_table_html(const PlanPage& page, const std::vector<Simulation>& simulations);
std::string steps_html(const PlanPage& page);
std::string lengths_html(const PlanProblem& problem);

}  // namespace zoetrope
