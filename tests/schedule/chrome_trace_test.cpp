// Chrome traces read back: slices, names and counters say what the simulation says.
#include "schedule/chrome_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "schedule/planner.h"
#include "schedule/trace.h"

namespace zoetrope {
namespace {

constexpr int64_t kSamples = 40;
const Cluster kCluster{6, 13000};

CostModel cost_of_nodes() {
  CostModel cost = find_cost("pcie");
  cost.ranks_per_node = 4;
  cost.allreduce_ns = 5e6;
  return cost;
}

Plan plan_of(const CostModel& cost) {
  return make_plan({"elastic", 0}, trace_lengths(find_trace("t2"), 1, 0, kSamples), cost, kCluster);
}

int64_t ns_of(const nlohmann::json& micros) { return std::llround(1000 * micros.get<double>()); }

/// Events of a kind by thread, in their order.
std::map<size_t, std::vector<nlohmann::json>> by_thread(const nlohmann::json& trace, const char* phase) {
  std::map<size_t, std::vector<nlohmann::json>> threads;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == phase) threads[event["tid"]].push_back(event);
  return threads;
}

/// Slices lie in order inside the step, passes around what the lane does, which is the simulation's spans.
void check_slices(const nlohmann::json& trace, const Simulation& simulation) {
  const char* const kinds[] = {"compute", "transfer", "wait", "all-reduce", "optimizer"};
  const auto threads = by_thread(trace, "X");
  ASSERT_EQ(threads.size(), simulation.lanes.size());
  for (const auto& [lane, slices] : threads) {
    size_t next = 0;
    int64_t last_begin = 0, pass_end = 0;
    for (const nlohmann::json& slice : slices) {
      const int64_t begin = ns_of(slice["ts"]), end = begin + ns_of(slice["dur"]);
      ASSERT_GE(begin, last_begin);
      ASSERT_LE(end, simulation.total_ns);
      last_begin = begin;
      if (slice["cat"] == "pass") {
        ASSERT_GE(begin, pass_end);
        pass_end = end;
        continue;
      }
      ASSERT_LT(next, simulation.lanes[lane].size());
      const SimSpan& span = simulation.lanes[lane][next++];
      ASSERT_EQ(begin, span.begin_ns);
      ASSERT_EQ(end, span.end_ns);
      ASSERT_EQ(slice["name"], kinds[span.kind]);
      if (span.wave >= 0) { ASSERT_LE(end, pass_end); }
    }
    ASSERT_EQ(next, simulation.lanes[lane].size());
  }
}

/// Counters rise to the lane's peak and end at nothing.
void check_counters(const nlohmann::json& trace, const Simulation& simulation) {
  const auto counters = by_thread(trace, "C");
  for (size_t lane = 0; lane < simulation.lanes.size(); ++lane) {
    ASSERT_EQ(counters.count(lane), simulation.peak_tokens[lane] > 0);
    if (simulation.peak_tokens[lane] == 0) continue;
    int64_t peak = 0, last = -1;
    for (const nlohmann::json& counter : counters.at(lane)) {
      ASSERT_GT(ns_of(counter["ts"]), last);
      last = ns_of(counter["ts"]);
      peak = std::max(peak, counter["args"]["tokens"].get<int64_t>());
    }
    ASSERT_EQ(peak, simulation.peak_tokens[lane]);
    ASSERT_EQ(counters.at(lane).back()["args"]["tokens"], 0);
  }
}

TEST(ChromeTrace, HoldsEverySpanOfRanks) {
  const CostModel cost = cost_of_nodes();
  const Plan plan = plan_of(cost);
  const Simulation simulation = simulate(plan, cost);
  ASSERT_GT(figure_of(simulation.exposed_ns).most, 0) << "the case has no exposed transfer to show";
  ChromeTraceNames names{cost.ranks_per_node, {}};
  for (int64_t sample = 0; sample < kSamples; ++sample) names.samples.push_back(1000 + sample);
  const nlohmann::json trace = nlohmann::json::parse(chrome_trace(simulation, plan, names));
  check_slices(trace, simulation);
  check_counters(trace, simulation);
  for (const auto& [lane, slices] : by_thread(trace, "X"))
    for (const nlohmann::json& slice : slices) {
      ASSERT_EQ(slice["pid"], lane / 4);
      if (slice["cat"] != "pass") continue;
      const auto& shards = plan.waves[slice["args"]["wave"]].slots[lane];
      ASSERT_EQ(slice["args"]["tokens"], tokens_of(shards));
      if (shards.empty()) continue;
      const std::string samples = slice["args"]["samples"];
      ASSERT_EQ(samples.find(join_message("#", 1000 + shards[0].sample, " [", shards[0].begin, ", ")), 0u);
    }
  std::map<std::string, int> named;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "M" && event["args"].contains("name")) ++named[event["args"]["name"]];
  for (const char* name : {"node 0", "node 1", "rank 0", "rank 5"}) EXPECT_EQ(named[name], 1) << name;
}

TEST(ChromeTrace, HoldsEverySpanOfStages) {
  const CostModel cost = cost_of_nodes();
  const Plan plan = plan_of(cost);
  const Simulation simulation = simulate(plan, cost, PipelineShape{3});
  const nlohmann::json trace = nlohmann::json::parse(chrome_trace(simulation, plan, {}));
  check_slices(trace, simulation);
  check_counters(trace, simulation);
  for (const auto& [lane, slices] : by_thread(trace, "X"))
    for (const nlohmann::json& slice : slices) ASSERT_EQ(slice["pid"], lane / 3);
}

TEST(ChromeTrace, RefusesAPlanOfOtherLanes) {
  const CostModel cost = cost_of_nodes();
  Plan plan = plan_of(cost);
  const Simulation simulation = simulate(plan, cost);
  for (Wave& wave : plan.waves) wave.slots.emplace_back();
  EXPECT_THROW(chrome_trace(simulation, plan, {}), Error);
}

}  // namespace
}  // namespace zoetrope
