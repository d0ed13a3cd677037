// bench traces: every planner on published mixes of lengths and data-sheet clusters with nodes, on paper.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// What is planned: each trace with each seed, cost set and execution, on 64 ranks.
struct TracesBench {
  std::vector<std::string> hardware{"h100", "pcie"}, executions{"free", "waves"};
  std::vector<std::string> traces;  ///< T1 ... T9, T3c; empty: all
  int64_t num_seeds = 5;            ///< 0, 1, ...
  bool prints = true;
};

/// One planner's plan against the bound.
struct TracesRow {
  std::string trace, cost, execution, planner;
  int64_t seed = 0, makespan_ns = 0, bound_ns = 0;  ///< makespan 0: it has no plan
  double plan_ms = 0;
  double ratio() const { return double(makespan_ns) / double(bound_ns); }
};

/// Plans all, with a line for each trace and seed as it comes.
/// Throws: UsageError for names of no cost set or trace.
std::vector<TracesRow> run_bench_traces(const TracesBench& bench);

/// All figures as JSON.
std::string traces_json(const std::vector<TracesRow>& rows);
/// A table in Markdown: a trace a row, makespan / bound of elastic (the worst of the seeds), beside balanced
/// static and static (means of the seeds); and how often another planner was faster than elastic.
std::string traces_markdown(const TracesBench& bench, const std::vector<TracesRow>& rows);

}  // namespace zoetrope
