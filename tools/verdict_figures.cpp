#include "tools/verdict_figures.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/static.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

/// Links take `factor` times as long.
CostModel with_links(CostModel cost, double factor) {
  cost.transfer_ns *= factor;
  cost.transfer_between_ns *= factor;
  cost.all_to_all_ns *= factor;
  return cost;
}

CostModel with_free_links(const CostModel& cost) {
  CostModel free = with_links(cost, 0);
  free.latency_ns = free.latency_between_ns = 0;
  return free;
}

const char* our_planner(const PlanProblem& problem) { return problem.stages > 1 ? "pipeline" : "elastic"; }

/// Time of the fastest balanced static plan; 0: there is none.
int64_t balanced_ns(const PlanProblem& problem) {
  if (problem.stages == 1) {
    const StaticChoice best = best_static_balanced(problem.lengths, problem.cost, problem.cluster, INT64_MAX);
    return best.cp > 0 ? best.total_ns : 0;
  }
  int64_t best = 0;
  for (int64_t cp : feasible_cp_sizes(problem.lengths, problem.cluster)) {
    const Plan plan = plan_static_balanced(problem.lengths, problem.cost, problem.cluster, cp);
    const int64_t total = makespan_of(problem, plan).total_ns;
    if (best == 0 || total < best) best = total;
  }
  return best;
}

/// Plans both; nothing when the longest sample fits nowhere.
void try_problem(const std::string& change, const PlanProblem& problem, std::vector<VerdictTrial>& trials) {
  const int64_t longest = *std::max_element(problem.lengths.begin(), problem.lengths.end());
  if (longest > problem.cluster.num_slots * problem.cluster.tokens_per_slot) return;
  const int64_t ours = report_plan(problem, {our_planner(problem), 0}).makespan.total_ns;
  trials.push_back({change, ours, balanced_ns(problem)});
}

/// The sum of a planner's steps, at its fastest size each; total 0 when it has no plan for one of them.
VerdictRival sum_of(const std::string& planner, const std::vector<std::vector<PlanReport>>& steps) {
  VerdictRival sum{planner};
  size_t found = 0;
  for (const std::vector<PlanReport>& reports : steps)
    for (const PlanReport* report : fastest_sizes(reports)) {
      if (report->planner != planner) continue;
      sum.cp = found == 0 || sum.cp == report->cp ? report->cp : 0;
      sum.total_ns += report->makespan.total_ns;
      sum.simulated_ns += report->simulated_ns;
      ++found;
    }
  if (found < steps.size()) sum = {planner};
  return sum;
}

void add_lengths(const PlanProblem& problem, VerdictFigures& figures) {
  figures.num_samples = int64_t(problem.lengths.size());
  figures.num_ranks = problem.cluster.num_slots;
  figures.tokens_per_rank = problem.cluster.tokens_per_slot;
  figures.shortest = *std::min_element(problem.lengths.begin(), problem.lengths.end());
  figures.longest = *std::max_element(problem.lengths.begin(), problem.lengths.end());
  for (int64_t tokens : problem.lengths) {
    figures.total_tokens += tokens;
    if (tokens <= problem.cluster.tokens_per_slot) continue;
    ++figures.num_above_cap;
    figures.tokens_above_cap += tokens;
  }
  figures.longest_alone_ns = bound_of(problem, {figures.longest});
  const int64_t room = problem.cluster.num_slots * problem.cluster.tokens_per_slot;
  figures.least_waves = (figures.total_tokens + room - 1) / room;
  const std::vector<int64_t> sizes = feasible_cp_sizes(problem.lengths, problem.cluster);
  if (!sizes.empty()) figures.least_static_cp = sizes.front();
}

}  // namespace

std::vector<VerdictTrial> verdict_trials(const PlanProblem& problem, const Doing& doing) {
  std::vector<VerdictTrial> trials;
  const auto try_change = [&](const std::string& change, const PlanProblem& changed) {
    if (doing) doing("verdict: with " + change);
    try_problem(change, changed, trials);
  };
  PlanProblem changed = problem;
  changed.memory = {};  // its limit is of the cap that there is
  if (problem.cost.transfer_ns > 0) {
    changed.cost = with_links(problem.cost, 4);
    try_change("links 4 times slower", changed);
    changed.cost = with_links(problem.cost, 0.25);
    try_change("links 4 times faster", changed);
    changed.cost = problem.cost;
  }
  const auto with_cap = [&](int64_t tokens, const char* words) {
    changed.cluster.tokens_per_slot = tokens;
    try_change(format_text("%s the cap (%s tokens)", words, with_commas(tokens).c_str()), changed);
    changed.cluster = problem.cluster;
  };
  with_cap(2 * problem.cluster.tokens_per_slot, "twice");
  if (problem.cluster.tokens_per_slot > 1) with_cap(problem.cluster.tokens_per_slot / 2, "half");
  const auto with_ranks = [&](int64_t ranks) {
    changed.cluster.num_slots = ranks;
    try_change(with_commas(ranks) + (problem.stages > 1 ? " pipeline" : " rank") + (ranks == 1 ? "" : "s"),
               changed);
    changed.cluster = problem.cluster;
  };
  if (problem.cluster.num_slots % 2 == 0) with_ranks(problem.cluster.num_slots / 2);
  with_ranks(2 * problem.cluster.num_slots);
  if (problem.stages == 1 && problem.cluster.execution == Execution::kFree) {
    changed.cluster.execution = Execution::kWaves;
    try_change("waves in lock-step", changed);
  }
  return trials;
}

VerdictFigures verdict_figures(const PlanProblem& first, const std::vector<std::vector<PlanReport>>& steps,
                               const Doing& doing) {
  VerdictFigures figures;
  figures.ours = our_planner(first);
  figures.num_steps = int64_t(steps.size());
  figures.ours_ns = sum_of(figures.ours, steps).total_ns;
  figures.balanced = sum_of("static-balanced", steps);
  for (const char* planner : {"static", "greedy-waves", "bags", "dynamic"})
    figures.others.push_back(sum_of(planner, steps));
  if (first.stages == 1) {  // pipelines have one model of their time
    figures.simulated_ours_ns = sum_of(figures.ours, steps).simulated_ns;
    figures.simulated_balanced_ns = figures.balanced.simulated_ns;
  }
  add_lengths(first, figures);
  for (const std::vector<PlanReport>& reports : steps) figures.bound_ns += reports.back().bound_ns;
  figures.first_bound_ns = steps.front().back().bound_ns;
  for (const PlanReport* report : fastest_sizes(steps.front())) {
    if (report->planner == figures.ours) {
      figures.first_ours_ns = report->makespan.total_ns;
      figures.ours_moved = report->moved;
    }
    if (report->planner != "static-balanced") continue;
    figures.first_balanced_ns = report->makespan.total_ns;
    figures.balanced_moved = report->moved;
    figures.balanced_waves = int64_t(report->plan.waves.size());
    PlanProblem free = first;
    free.cost = with_free_links(first.cost);
    figures.balanced_free_links_ns = makespan_of(free, report->plan).total_ns;
  }
  // Seven problems planned again, each within about 50 ms up to here.
  constexpr int64_t kMostWork = int64_t(1) << 16;
  const int64_t work = figures.num_samples * figures.num_ranks * first.stages * first.stages;
  if (work <= kMostWork) {
    figures.trials = verdict_trials(first, doing);
  } else {
    figures.untried = "Other links, caps and ranks were not tried: that takes long for " +
                      with_commas(figures.num_samples) + " samples on " +
                      with_commas(figures.num_ranks * first.stages) + " ranks; plan a smaller step.";
  }
  return figures;
}

}  // namespace zoetrope
