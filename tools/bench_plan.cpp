#include "tools/bench_plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "schedule/trace.h"
#include "tools/length_file.h"
#include "tools/plan_report.h"

namespace zoetrope {
namespace {

/// Lengths with the ranks and the cap that they are planned for.
struct List {
  std::string name;
  int64_t ranks = 0, tokens_per_rank = 0;
  std::vector<int64_t> lengths;
};

std::vector<List> lists_of(const PlanBench& bench) {
  if (bench.samples > 0) {
    const std::string name = join_message(bench.trace, " ", bench.samples, "x", bench.ranks);
    return {{name, bench.ranks, bench.tokens_per_rank,
             trace_lengths(find_trace(bench.trace), uint64_t(bench.seed), 0, bench.samples)}};
  }
  std::vector<List> lists{{"video-mix-n512-g64", 64, 16384, {}},
                          {"video-mix-n128-g16", 16, 16384, {}},
                          {"lognormal-1024-1.5-n256-g64", 64, 2048, {}},
                          {"lognormal-2048-1.6-n2048-g64", 64, 65536, {}},
                          {"lognormal-16384-1.1-n512-g32", 32, 16384, {}}};
  for (List& list : lists) list.lengths = read_length_file(bench.lists + "/" + list.name + ".csv");
  return lists;
}

nlohmann::ordered_json row_of(const PlanProblem& problem, const std::string& list, const PlanReport& report) {
  return {{"list", list},
          {"samples", problem.lengths.size()},
          {"ranks", problem.cluster.num_slots},
          {"tokens_per_rank", problem.cluster.tokens_per_slot},
          {"cost", problem.cost.name},
          {"execution", name_of(problem.cluster.execution)},
          {"planner", report.planner},
          {"makespan", report.makespan.total_ns},
          {"bound", report.bound_ns},
          {"ideal", report.ideal_ns},
          {"efficiency", report.efficiency()},
          {"ceiling", report.ceiling()},
          {"ratio", report.ratio()},
          {"moved", report.moved},
          {"split_samples", report.split_samples},
          {"largest_ring", report.largest_ring},
          {"waves", report.plan.waves.size()},
          {"plan_ms", report.plan_milliseconds}};
}

/// One planner on one problem, printed and as a row.
nlohmann::ordered_json run_planner(const PlanProblem& problem, const std::string& list,
                                   const std::string& planner, bool prints) {
  const char* execution = name_of(problem.cluster.execution);
  if (prints)
    std::printf("%-28s %-13s %-5s  %-15s ", list.c_str(), problem.cost.name.c_str(), execution,
                planner.c_str());
  try {
    make_plan({planner, 0}, problem.lengths, problem.cost, problem.cluster);
    const PlanReport report = report_plan(problem, {planner, 0});
    if (prints)
      std::printf("%10.4f %8.4f %7.3f %6lld %5zu %9.3f\n", report.efficiency(), report.ceiling(),
                  report.moved, static_cast<long long>(report.largest_ring), report.plan.waves.size(),
                  report.plan_milliseconds);
    std::fflush(stdout);
    return row_of(problem, list, report);
  } catch (const Error& reason) {
    if (planner == planner_names().back()) throw;  // the default plans whatever fits
    if (prints) std::printf("%s\n", reason.what());
    return {{"list", list},
            {"cost", problem.cost.name},
            {"execution", execution},
            {"planner", planner},
            {"failure", reason.what()}};
  }
}

}  // namespace

std::string run_bench_plan(const PlanBench& bench) {
  std::vector<std::string> costs{"square", "square-linear", "ring:1700", "ring:11000"},
      executions{"free", "waves"};
  if (!bench.cost.empty()) costs = {bench.cost};
  if (!bench.execution.empty()) executions = {bench.execution};
  const std::vector<List> lists = lists_of(bench);
  if (!bench.json)
    std::printf("%-28s %-13s %-5s  %-15s %10s %8s %7s %6s %5s %9s\n", "list", "cost", "runs", "planner",
                "efficiency", "ceiling", "moved", "ring", "waves", "plan ms");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const List& list : lists)
    for (const std::string& cost : costs)
      for (const std::string& execution : executions) {
        PlanProblem problem;
        problem.lengths = list.lengths;
        problem.cost = find_cost(cost);
        problem.cluster = {list.ranks, list.tokens_per_rank, 0, execution_of(execution)};
        check_batch(problem.lengths, problem.cluster);
        for (const std::string& planner : bench.planners)
          rows.push_back(run_planner(problem, list.name, planner, !bench.json));
      }
  return nlohmann::ordered_json{{"bench", "plan"}, {"rows", rows}}.dump(2);
}

}  // namespace zoetrope
