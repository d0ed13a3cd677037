// Efficiency of free-running plans on fixed length lists, under cost sets on paper that anyone can recompute;
// printed, with what must hold as expectations. `zoetrope bench plan` prints the whole table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "schedule/bound.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"

namespace zoetrope {
namespace {

/// A problem with what plans of it reach.
class Figures {
 public:
  Figures(const LengthList& list, const std::string& cost)
      : list_(list),
        lengths_(read_length_list(list.name)),
        cost_(find_cost(cost)),
        cluster_{list.num_slots, list.tokens_per_slot, 0},
        ideal_(double(ideal_ns(lengths_, cost_, list.num_slots))) {}

  double efficiency(const std::string& planner) const {
    const Plan plan = make_plan({planner, 0}, lengths_, cost_, cluster_);
    validate_plan(plan, lengths_, cluster_.num_slots);
    EXPECT_LE(max_tokens_per_slot(plan), cluster_.tokens_per_slot) << planner << " on " << list_.name;
    return ideal_ / double(makespan_of(plan, cost_).total_ns);
  }
  double ceiling() const { return ideal_ / double(lower_bound(lengths_, cost_, cluster_)); }

 private:
  LengthList list_;
  std::vector<int64_t> lengths_;
  CostModel cost_;
  Cluster cluster_;
  double ideal_;
};

/// What elastic must reach under ring:1700 and ring:11000; 0: only the bound counts, which leaves less there.
const std::map<std::string, std::pair<double, double>>& targets() {
  static const std::map<std::string, std::pair<double, double>> all{
      {"video-mix-n512-g64", {0.998, 0.995}},
      {"video-mix-n128-g16", {0.998, 0.995}},
      {"lognormal-1024-1.5-n256-g64", {0.988, 0}},
      {"lognormal-2048-1.6-n2048-g64", {0.998, 0}},
      {"lognormal-16384-1.1-n512-g32", {0.998, 0.995}}};
  return all;
}

TEST(PlannerFigures, OnTheLengthLists) {
  constexpr double kEnough = 1 - 1.0 / 1024;  // so near the bound the elastic planner stops looking
  constexpr double kMostOverBound = 1.01;     // of ring costs, everywhere
  std::printf("%-33s %-14s %8s %8s  %s\n", "list", "cost", "elastic", "ceiling", "others");
  for (const LengthList& list : length_lists())
    for (const std::string cost : {"square", "square-linear", "ring:1700", "ring:11000"}) {
      const Figures figures(list, cost);
      const double elastic = figures.efficiency("elastic"), ceiling = figures.ceiling();
      std::printf("%-33s %-14s %8.4f %8.4f ", list.name.c_str(), cost.c_str(), elastic, ceiling);
      for (const std::string& planner : planner_names()) {
        if (planner == "elastic") continue;
        const double other = figures.efficiency(planner);
        std::printf(" %s %.4f", planner.c_str(), other);
        EXPECT_GE(elastic, std::min(other, ceiling * kEnough))
            << planner << " on " << list.name << ", " << cost;
      }
      std::printf("\n");
      EXPECT_LE(elastic, ceiling) << list.name << ", " << cost;
      if (!cost.starts_with("ring:")) continue;
      EXPECT_LE(ceiling / elastic, kMostOverBound) << list.name << ", " << cost;
      const auto target = targets().find(list.name);
      if (target == targets().end()) continue;
      EXPECT_GE(elastic, cost == "ring:1700" ? target->second.first : target->second.second)
          << list.name << ", " << cost;
    }
}

}  // namespace
}  // namespace zoetrope
