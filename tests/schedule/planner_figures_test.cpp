// Efficiency of the planners on fixed length lists, compute only, beside the published greedy's known
// figures; printed, with what must hold as expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/clocks.h"
#include "schedule/bound.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"

namespace zoetrope {
namespace {

/// Attention of one token pair costs 1 ns; a remote token as much as `hidden_by` pairs, so that a shard of
/// that many tokens just hides its transfers. `overhead`: of a segment; a wave costs ten of them.
CostModel cost_of(double linear_ns, double hidden_by, double overhead) {
  CostModel cost;
  cost.linear_ns = linear_ns;
  cost.quadratic_ns = 1;
  cost.transfer_ns = hidden_by;
  cost.latency_ns = cost.sample_overhead_ns = overhead;
  cost.wave_overhead_ns = 10 * overhead;
  return cost;
}

/// Processor time of this thread: other processes don't count.
double thread_milliseconds() { return 1e-6 * double(thread_cpu_ns()); }

void print_row(const LengthList& list, const CostModel& cost) {
  const std::vector<int64_t> lengths = read_length_list(list.name);
  const Cluster cluster{list.num_slots, list.tokens_per_slot, 0};
  const double ideal = double(ideal_ns(lengths, cost, list.num_slots));
  const auto efficiency = [&](const Plan& plan) { return ideal / double(makespan_of(plan, cost).total_ns); };
  double milliseconds = 1e9;
  Plan plan;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin = thread_milliseconds();
    plan = plan_elastic(lengths, cost, cluster);
    milliseconds = std::min(milliseconds, thread_milliseconds() - begin);
  }
  const double best = efficiency(make_plan({"static-balanced", 0}, lengths, cost, cluster));
  const double elastic = efficiency(plan), ceiling = ideal / double(lower_bound(lengths, cost, cluster));
  std::printf("%-33s %6.0f %6.0f %6.0f %8.4f %8.4f %8.4f %8.4f %8.4f %8.2f %5zu\n", list.name.c_str(),
              cost.linear_ns, cost.transfer_ns, cost.latency_ns,
              efficiency(plan_static(lengths, cluster, list.static_cp)),
              efficiency(plan_static_balanced(lengths, cost, cluster, list.static_cp)), best, elastic,
              ceiling, milliseconds, plan.waves.size());
  EXPECT_LE(best, elastic) << list.name;
  EXPECT_LE(elastic, ceiling) << list.name;
}

TEST(PlannerFigures, OnTheLengthLists) {
  std::printf("%-33s %6s %6s %6s %8s %8s %8s %8s %8s %8s %5s\n", "list", "linear", "hides", "fixed",
              "arrival", "balanced", "best bal", "elastic", "ceiling", "plan ms", "waves");
  for (const LengthList& list : length_lists()) {
    print_row(list, cost_of(0, 0, 0));
    print_row(list, cost_of(6 * 3072, 0, 0));
    print_row(list, cost_of(6 * 3072, 1700, 0));
    print_row(list, cost_of(6 * 3072, 11000, 0));
    print_row(list, cost_of(6 * 3072, 1700, 2e6));
  }
}

}  // namespace
}  // namespace zoetrope
