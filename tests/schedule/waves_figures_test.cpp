// Waves in lock-step: efficiency of the elastic planner on fixed length lists, with what must hold as
// expectations, and the time that planning takes, printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/clocks.h"
#include "schedule/bound.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"

namespace zoetrope {
namespace {

/// Least ideal / makespan of a list with the cost set ring:1700.
double least_efficiency(const std::string& list) {
  if (list == "video-mix-n128-g16") return 0.985;
  if (list == "lognormal-1024-1.5-n256-g64") return 0.955;
  return 0.995;
}

void check_list(const LengthList& list, const std::string& set) {
  const CostModel cost = find_cost(set);
  const std::vector<int64_t> lengths = read_length_list(list.name);
  const Cluster cluster{list.num_slots, list.tokens_per_slot, 0, Execution::kWaves};
  int64_t least_ns = INT64_MAX;
  Plan plan;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const int64_t begin = thread_cpu_ns();
    plan = plan_elastic(lengths, cost, cluster);
    least_ns = std::min(least_ns, thread_cpu_ns() - begin);
  }
  validate_plan(plan, lengths, list.num_slots);
  EXPECT_LE(max_tokens_per_slot(plan), list.tokens_per_slot) << list.name;
  const double ideal = double(ideal_ns(lengths, cost, list.num_slots));
  const int64_t total = makespan_of(plan, cost, Execution::kWaves).total_ns,
                bound = lower_bound(lengths, cost, cluster);
  Cluster free = cluster;
  free.execution = Execution::kFree;
  std::printf("%-33s %-11s %8.4f %8.4f %8.4f %8.4f %6zu %8.2f\n", list.name.c_str(), set.c_str(),
              ideal / double(total), ideal / double(lower_bound(lengths, cost, free)), ideal / double(bound),
              double(total) / double(bound), plan.waves.size(), 1e-6 * double(least_ns));
  EXPECT_LE(bound, total) << list.name;
  if (set == "ring:1700") { EXPECT_GE(ideal / double(total), least_efficiency(list.name)) << list.name; }
}

TEST(WavesFigures, OnTheLengthLists) {
  std::printf("%-33s %-11s %8s %8s %8s %8s %6s %8s\n", "list", "cost", "elastic", "by dual", "by both",
              "ratio", "waves", "plan ms");
  for (const char* set : {"ring:1700", "ring:11000", "ring:25000", "square-linear"})
    for (const LengthList& list : length_lists())
      if (list.name.find("pipeline") == std::string::npos) check_list(list, set);
}

}  // namespace
}  // namespace zoetrope
