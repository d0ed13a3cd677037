// Plans of traces on pools of nodes with exchange schemes, against the bound and other planners;
// printed, with what must hold as expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "schedule/planner.h"
#include "schedule/trace.h"

namespace zoetrope {
namespace {

/// Panda-like durations: the trace with most rings, 2 to 12 ranks of 64, that must fit beside each other.
TEST(NodeFigures, RingsOfAllSizesFitBesideEachOther) {
  constexpr double kMostOverBound = 1.02;  // on fast links, where larger rings cost little more
  for (const int64_t num_samples : {512, 128})
    for (const uint64_t seed : {0, 1, 2}) {
      const std::vector<int64_t> lengths = trace_lengths(find_trace("t3"), seed, 0, num_samples);
      const CostModel cost = find_cost("h100");
      const Cluster cluster{64, 20480, 0};
      const double bound = double(lower_bound(lengths, cost, cluster));
      const auto ratio_of = [&](const std::string& planner) {
        const Plan plan = make_plan({planner, 0}, lengths, cost, cluster);
        validate_plan(plan, lengths, cluster.num_slots);
        return double(makespan_of(plan, cost).total_ns) / bound;
      };
      const double elastic = ratio_of("elastic");
      std::printf("t3 x %3lld, seed %llu: elastic %.4f x the bound", static_cast<long long>(num_samples),
                  static_cast<unsigned long long>(seed), elastic);
      EXPECT_LE(elastic, kMostOverBound);
      for (const std::string planner : {"static-balanced", "greedy-waves", "bags", "dynamic"}) {
        const double other = ratio_of(planner);
        std::printf(", %s %.4f", planner.c_str(), other);
        EXPECT_LE(elastic, other) << planner << ", " << num_samples << " samples, seed " << seed;
      }
      std::printf("\n");
    }
}

/// The last node of a pool may have fewer slots than the others, and rings of all of them lie unevenly.
TEST(NodeFigures, PoolsWithAPartOfANode) {
  constexpr double kEnough = 1 + 1.0 / 1024;  // so near the bound the elastic planner stops looking
  for (const std::string name : {"h100", "pcie"})
    for (const int64_t num_slots : {12, 21})
      for (const int64_t num_samples : {16, 64}) {
        const std::vector<int64_t> lengths = trace_lengths(find_trace("t3"), 0, 0, num_samples);
        const CostModel cost = find_cost(name);
        const Cluster cluster{num_slots, 20480, 0};
        const double bound = double(lower_bound(lengths, cost, cluster));
        const auto ratio_of = [&](const std::string& planner) {
          return double(makespan_of(make_plan({planner, 0}, lengths, cost, cluster), cost).total_ns) / bound;
        };
        const double elastic = ratio_of("elastic"), dynamic = ratio_of("dynamic");
        std::printf("%s, t3 x %3lld on %lld ranks: elastic %.4f x the bound, dynamic %.4f\n", name.c_str(),
                    static_cast<long long>(num_samples), static_cast<long long>(num_slots), elastic, dynamic);
        EXPECT_LE(elastic, std::max(dynamic, kEnough)) << name << ", " << num_slots << " ranks";
      }
}

/// Few samples, most of them rings, on slow links: 1.050 x the bound without a search for the rings' order.
TEST(NodeFigures, FewRingsOnSlowLinks) {
  constexpr double kMostOverBound = 1.03;
  const std::vector<int64_t> lengths = trace_lengths(find_trace("t3"), 0, 0, 128);
  const CostModel cost = find_cost("pcie");
  const Cluster cluster{64, 20480, 0};
  const Plan plan = make_plan({"elastic", 0}, lengths, cost, cluster);
  validate_plan(plan, lengths, cluster.num_slots);
  EXPECT_LE(max_tokens_per_slot(plan), cluster.tokens_per_slot);
  EXPECT_EQ(make_plan({"elastic", 0}, lengths, cost, cluster), plan);
  const double ratio = double(makespan_of(plan, cost).total_ns) / double(lower_bound(lengths, cost, cluster));
  std::printf("t3 x 128, seed 0, pcie: elastic %.4f x the bound\n", ratio);
  EXPECT_LE(ratio, kMostOverBound);
}

/// Lock-step on slow links: the seeds that are farthest from the bound.
TEST(NodeFigures, WavesOnSlowLinks) {
  struct Case {
    const char* trace;
    int64_t num_samples, cap;
    uint64_t seed;
    double most;  ///< times the bound
  };
  for (const Case& one :
       {Case{"t1", 712, 20480, 1, 1.05}, Case{"t2", 512, 20480, 2, 1.10}, Case{"t4", 512, 2048, 1, 1.05},
        Case{"t6", 512, 8192, 1, 1.05}, Case{"t7", 512, 8192, 1, 1.05}, Case{"t8", 512, 8192, 3, 1.05}}) {
    const std::vector<int64_t> lengths = trace_lengths(find_trace(one.trace), one.seed, 0, one.num_samples);
    const CostModel cost = find_cost(one.cap == 20480 ? "pcie" : "pcie:text-7b");
    const Cluster cluster{64, one.cap, 0, Execution::kWaves};
    const Plan plan = make_plan({"elastic", 0}, lengths, cost, cluster);
    validate_plan(plan, lengths, cluster.num_slots);
    EXPECT_LE(max_tokens_per_slot(plan), one.cap);
    const double ratio = double(makespan_of(plan, cost, Execution::kWaves).total_ns) /
                         double(lower_bound(lengths, cost, cluster));
    std::printf("%s, seed %llu, pcie, waves: elastic %.4f x the bound\n", one.trace,
                static_cast<unsigned long long>(one.seed), ratio);
    EXPECT_LE(ratio, one.most) << one.trace;
  }
}

}  // namespace
}  // namespace zoetrope
