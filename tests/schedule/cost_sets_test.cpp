// The cost sets on paper, against their definitions in whole numbers.
#include <gtest/gtest.h>

#include "core/check.h"
#include "schedule/bound.h"

namespace zoetrope {
namespace {

constexpr int64_t kLinear = 6 * 3072;

/// A plan of one wave: sample 0 on one rank per entry of `shards`, in order, and sample 1 whole on the last.
Plan plan_of(const std::vector<int64_t>& shards, int64_t whole) {
  Plan plan;
  plan.waves.emplace_back();
  int64_t begin = 0;
  for (int64_t tokens : shards) {
    plan.waves[0].slots.push_back({{0, begin, begin + tokens}});
    begin += tokens;
  }
  plan.waves[0].slots.back().push_back({1, 0, whole});
  list_rings(plan);
  return plan;
}

TEST(PaperCosts, AreTheirDefinitionsToTheUnit) {
  const std::vector<int64_t> shards{1, 700, 2300};
  const int64_t total = 3001, whole = 57;
  for (const int64_t hidden_by : {int64_t(-1), int64_t(0), int64_t(1700), int64_t(11000)}) {
    const CostModel cost = find_cost(hidden_by < 0    ? "square"
                                     : hidden_by == 0 ? "square-linear"
                                                      : "ring:" + std::to_string(hidden_by));
    const int64_t linear = hidden_by < 0 ? 0 : kLinear;
    std::vector<int64_t> busy;
    for (int64_t k : shards) busy.push_back(k * k + std::max(k, hidden_by) * (total - k) + linear * k);
    busy.back() += whole * whole + linear * whole;
    for (const Execution execution : {Execution::kFree, Execution::kWaves}) {
      const Makespan makespan = makespan_of(plan_of(shards, whole), cost, execution);
      EXPECT_EQ(makespan.busy_ns, busy) << cost.name;
      EXPECT_EQ(makespan.total_ns, *std::max_element(busy.begin(), busy.end())) << cost.name;
    }
    EXPECT_EQ(ideal_ns({total, whole}, cost, 1), total * total + whole * whole + linear * (total + whole));
  }
}

TEST(PaperCosts, ARankIsFreeWhenItsOwnWorkIsDone) {
  Plan plan = plan_of({30, 70}, 5);
  plan.waves.push_back({{{{2, 0, 40}}, {}}, {}});
  const Makespan makespan = makespan_of(plan, find_cost("square"));
  EXPECT_EQ(makespan.total_ns, 70 * 100 + 5 * 5);  // rank 0 ends at 30 x 100 + 40 x 40
  EXPECT_EQ(makespan_of(plan, find_cost("square"), Execution::kWaves).total_ns, 70 * 100 + 5 * 5 + 40 * 40);
}

TEST(PaperCosts, WrongNamesSayWhatThereIs) {
  const auto said = [](const std::string& name) {
    try {
      find_cost(name);
    } catch (const UsageError& problem) { return std::string(problem.what()); }
    return std::string();
  };
  for (const char* text : {"h100", "square-linear", "ring:H"})
    EXPECT_NE(said("cube").find(text), std::string::npos) << said("cube");
  for (const char* name :
       {"ring:", "ring:x", "ring:-1", "ring:1700 ", "ring:17e2", "ring:99999999999999999999"})
    EXPECT_NE(said(name).find("expected a whole number of tokens"), std::string::npos) << name;
  EXPECT_FALSE(find_paper_cost("h100").has_value());
}

}  // namespace
}  // namespace zoetrope
