#include "schedule/planner.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/ring_price.h"
#include "schedule/static.h"

namespace zoetrope {
namespace {

Plan plan_with_cp(const std::string& planner, const std::vector<int64_t>& lengths, const CostModel& cost,
                  const Cluster& cluster, int64_t cp) {
  if (planner == "static-balanced") return plan_static_balanced(lengths, cost, cluster, cp);
  Plan plan = plan_static(lengths, cluster, cp);
  choose_exchanges(plan, FixedCost(cost));
  return plan;
}

}  // namespace

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names{"static", "static-balanced", "greedy-waves",
                                              "bags",   "dynamic",         "elastic"};
  return names;
}

bool fixes_cp_size(const std::string& planner) { return planner == "static" || planner == "static-balanced"; }

void check_batch(const std::vector<int64_t>& lengths, const Cluster& cluster) {
  ZT_REQUIRE(cluster.num_slots > 0, "plan: ", cluster.num_slots, " ranks, expected at least 1");
  ZT_REQUIRE(cluster.tokens_per_slot > 0, "plan: ", cluster.tokens_per_slot,
             " tokens per rank, expected at least 1");
  for (size_t i = 0; i < lengths.size(); ++i) {
    ZT_REQUIRE(lengths[i] > 0, "plan: sample ", i, " has ", lengths[i], " tokens, expected at least 1");
    ZT_REQUIRE(lengths[i] <= cluster.num_slots * cluster.tokens_per_slot, "plan: sample ", i, " has ",
               lengths[i], " tokens, and all ", cluster.num_slots, " ranks together hold ", cluster.num_slots,
               " x ", cluster.tokens_per_slot, " = ", cluster.num_slots * cluster.tokens_per_slot,
               "; use more ranks, more memory per rank, or ingest with a smaller --area or --max-seconds");
  }
}

int64_t fastest_cp(const std::string& planner, const std::vector<int64_t>& lengths, const CostModel& cost,
                   const Cluster& cluster) {
  const int64_t best = planner == "static-balanced"
                           ? best_static_balanced(lengths, cost, cluster, INT64_MAX).cp
                           : best_static(lengths, cost, cluster).cp;
  ZT_REQUIRE(best > 0, "plan: no CP size that divides ", cluster.num_slots, " ranks fits the samples into ",
             cluster.tokens_per_slot, " tokens per rank");
  return best;
}

Plan make_plan(const PlanRequest& request, const std::vector<int64_t>& lengths, const CostModel& cost,
               const Cluster& cluster) {
  check_batch(lengths, cluster);
  const std::vector<std::string>& names = planner_names();
  if (std::find(names.begin(), names.end(), request.planner) == names.end()) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    throw UsageError(join_message("planner '", request.planner, "' is unknown; there are ", list));
  }
  if (request.cp != 0 && !fixes_cp_size(request.planner))
    throw UsageError(join_message("--cp fixes the size of the static planners; planner '", request.planner,
                                  "' chooses its own"));
  if (!request.bags.empty() && request.planner != "bags")
    throw UsageError(
        join_message("--bags cuts the ranks for the bags planner, not for planner '", request.planner, "'"));
  if (request.planner == "greedy-waves") {
    Plan plan = plan_greedy_waves(lengths, cluster);
    choose_exchanges(plan, FixedCost(cost));
    return plan;
  }
  if (request.planner == "bags") return plan_bags(lengths, cost, cluster, request.bags);
  if (request.planner == "dynamic") return plan_dynamic(lengths, cost, cluster);
  if (request.planner == "elastic") return plan_elastic(lengths, cost, cluster);
  const int64_t cp = request.cp > 0 ? request.cp : fastest_cp(request.planner, lengths, cost, cluster);
  return plan_with_cp(request.planner, lengths, cost, cluster, cp);
}

}  // namespace zoetrope
