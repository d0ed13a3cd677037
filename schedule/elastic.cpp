// The elastic planner: candidates of several kinds, the fastest predicted one wins.
#include <optional>

#include "core/check.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

/// Keeps the plan with the least makespan; the first of equals.
struct Best {
  std::optional<Plan> plan;
  int64_t total_ns = 0;
  void offer(Plan candidate, const CostModel& cost) {
    const int64_t total = makespan_of(candidate, cost).total_ns;
    if (plan && total >= total_ns) return;
    plan = std::move(candidate);
    total_ns = total;
  }
};

}  // namespace

Plan plan_elastic(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster) {
  check_batch(lengths, cluster);
  Best best;
  for (int64_t cp : feasible_cp_sizes(lengths, cluster)) best.offer(plan_static_balanced(lengths, cost, cluster, cp), cost);
  ZT_REQUIRE(best.plan.has_value(), "elastic plan: no plan fits the batch into ", cluster.tokens_per_slot,
             " tokens per rank");
  return *std::move(best.plan);
}

}  // namespace zoetrope
