// bench plan: every planner on lists of lengths and cost sets on paper, in figures that anyone can recompute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

struct PlanBench {
  std::string lists = "tests/data/traces";  ///< folder of the five lists
  std::string trace = "video-mix";          ///< instead of the lists, when `samples` > 0
  int64_t samples = 0, ranks = 0, tokens_per_rank = 16384, seed = 0;
  std::string cost, execution;  ///< empty: square, square-linear, ring:1700, ring:11000; free and waves
  std::vector<std::string> planners;
  bool json = false;
};

/// Plans and prints a table, unless `json`. A planner that has no plan for a list gets a row that says why.
/// Plan times are one run after one that isn't timed. Returns the rows as JSON.
/// Throws: Error when a list can't be read, or a sample fits nowhere.
std::string run_bench_plan(const PlanBench& bench);

}  // namespace zoetrope
