// The rival planners on the length lists: what others measured of them, to the digits that were printed.
#include <gtest/gtest.h>

#include <cmath>

#include "schedule/bound.h"
#include "schedule/planner.h"
#include "tests/support/length_lists.h"

namespace zoetrope {
namespace {

double efficiency(const Plan& plan, const std::vector<int64_t>& lengths, const CostModel& cost,
                  Execution execution) {
  return double(ideal_ns(lengths, cost, plan.num_slots())) /
         double(makespan_of(plan, cost, execution).total_ns);
}

/// In thousandths, as the figures are printed.
int64_t rounded(double value) { return std::llround(1000 * value); }

// Source: the upstream scheduler itself, run on exactly these lists.
TEST(GreedyWaves, ReachesUpstreamsFigures) {
  const struct {
    const char* list;
    int64_t waves[2], free[2];  ///< cost S^2, cost S^2 + 6 x 3072 S
  } known[] = {{"video-mix-n512-g64", {870, 892}, {876, 931}},
               {"video-mix-n128-g16", {979, 976}, {979, 985}},
               {"lognormal-1024-1.5-n256-g64", {578, 846}, {578, 907}},
               {"lognormal-2048-1.6-n2048-g64", {281, 511}, {281, 511}},
               {"lognormal-16384-1.1-n512-g32", {924, 940}, {933, 957}}};
  for (const auto& figures : known)
    for (const LengthList& list : length_lists()) {
      if (list.name != figures.list) continue;
      const std::vector<int64_t> lengths = read_length_list(list.name);
      const Plan plan = plan_greedy_waves(lengths, {list.num_slots, list.tokens_per_slot});
      int column = 0;
      for (const char* name : {"square", "square-linear"}) {
        const CostModel cost = find_cost(name);
        EXPECT_EQ(rounded(efficiency(plan, lengths, cost, Execution::kWaves)), figures.waves[column])
            << list.name << ", waves, " << name;
        EXPECT_EQ(rounded(efficiency(plan, lengths, cost, Execution::kFree)), figures.free[column])
            << list.name << ", free, " << name;
        ++column;
      }
    }
}

}  // namespace
}  // namespace zoetrope
