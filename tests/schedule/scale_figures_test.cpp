// The elastic planner on pools of every size: time, printed, and distance from the bound, with what must hold
// as expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/clocks.h"
#include "schedule/bound.h"
#include "schedule/planner.h"
#include "schedule/trace.h"

namespace zoetrope {
namespace {

/// Processor milliseconds of this thread that `work` takes.
double milliseconds_of(const auto& work) {
  const int64_t begin = thread_cpu_ns();
  work();
  return 1e-6 * double(thread_cpu_ns() - begin);
}

void print_head() {
  std::printf("%-31s %7s %6s %-10s %9s %9s %9s %6s %6s %9s %9s %9s %9s\n", "lengths", "samples", "ranks",
              "cost", "efficient", "ceiling", "x bound", "waves", "ring", "plan ms", "makespan", "bound",
              "validate");
}

/// Plans, prints a row, checks plan and bound; returns makespan / bound.
double print_row(const std::string& name, const std::vector<int64_t>& lengths, const CostModel& cost,
                 const Cluster& cluster) {
  Plan plan;
  const double plan_ms = milliseconds_of([&] { plan = plan_elastic(lengths, cost, cluster); });
  int64_t total = 0, bound = 0, largest_ring = 1;
  const double makespan_ms = milliseconds_of([&] { total = makespan_of(plan, cost).total_ns; });
  const double bound_ms = milliseconds_of([&] { bound = lower_bound(lengths, cost, cluster); });
  const double validate_ms =
      milliseconds_of([&] { EXPECT_NO_THROW(validate_plan(plan, lengths, cluster.num_slots)) << name; });
  for (const Wave& wave : plan.waves)
    for (const RingView& ring : split_samples(wave))
      largest_ring = std::max(largest_ring, int64_t(ring.members.size()));
  const double ideal = double(ideal_ns(lengths, cost, cluster.num_slots));
  std::printf("%-31s %7zu %6lld %-10s %9.4f %9.4f %9.4f %6zu %6lld %9.2f %9.2f %9.2f %9.2f\n", name.c_str(),
              lengths.size(), static_cast<long long>(cluster.num_slots), cost.name.c_str(),
              ideal / double(total), ideal / double(bound), double(total) / double(bound), plan.waves.size(),
              static_cast<long long>(largest_ring), plan_ms, makespan_ms, bound_ms, validate_ms);
  EXPECT_GE(total, bound) << name;
  EXPECT_LE(max_tokens_per_slot(plan), cluster.tokens_per_slot) << name;
  EXPECT_EQ(hash_of(plan_elastic(lengths, cost, cluster)), hash_of(plan)) << name;
  return double(total) / double(bound);
}

struct Size {
  int64_t samples, ranks;
  double most;  ///< makespan / bound
};

TEST(ScaleFigures, PoolsOfTracesAreNearTheBound) {
  print_head();
  for (const Size& size : {Size{512, 64, 1.01}, Size{512, 61, 1.01}, Size{4096, 1024, 1.015},
                           Size{4096, 1000, 1.015}, Size{65536, 16384, 1.03}})
    for (const char* trace : {"video-mix", "lognormal:16384:1.1:256:131072", "lognormal:2048:1.6:128:262144"})
      for (const char* cost : {"square-linear", "ring:1700", "ring:11000", "h100"}) {
        const std::vector<int64_t> lengths = trace_lengths(find_trace(trace), 1, 0, size.samples);
        EXPECT_LE(print_row(trace, lengths, find_cost(cost), {size.ranks, 16384, 0}), size.most)
            << trace << " " << cost << " " << size.ranks;
      }
}

/// Lengths that stand out: few samples for many ranks, all equal, one giant, one token each, tiny pools.
TEST(ScaleFigures, OddBatches) {
  struct Odd {
    const char* name;
    std::vector<int64_t> lengths;
    int64_t ranks;
    bool near;  ///< the bound can be reached within 1.5 %, on links that are all alike
  };
  const std::vector<int64_t> video = trace_lengths(find_trace("video-mix"), 2, 0, 4095);
  const auto first = [&](size_t count) { return std::vector<int64_t>(video.begin(), video.begin() + count); };
  std::vector<int64_t> with_giant = video;
  with_giant.push_back(1024 * 16384);
  print_head();
  for (const Odd& odd :
       {Odd{"few", first(512), 8192, true}, Odd{"few", first(64), 512, true},
        Odd{"few, odd pool", first(200), 301, true},
        Odd{"equal", std::vector<int64_t>(4096, 12000), 1024, true},
        Odd{"equal, odd rest", std::vector<int64_t>(4000, 12000), 1024, true},
        Odd{"equal rings", std::vector<int64_t>(4096, 40000), 1024, true},
        Odd{"one giant", {16384 * 16384}, 16384, true}, Odd{"giant and clips", with_giant, 1024, true},
        Odd{"one token each", std::vector<int64_t>(65536, 1), 100, true},
        Odd{"one token each", std::vector<int64_t>(100, 1), 16384, true},
        Odd{"many for one rank", video, 1, true},
        Odd{"five on seven", {100000, 60000, 30000, 5000, 100}, 7, true},
        Odd{"short five on seven", {5000, 5000, 4000, 3000, 100}, 7, false}})
    for (const char* cost : {"ring:1700", "h100"}) {
      const int64_t cap = odd.ranks == 1 ? *std::max_element(video.begin(), video.end()) : 16384;
      const double ratio = print_row(odd.name, odd.lengths, find_cost(cost), {odd.ranks, cap, 0});
      if (odd.near && cost == std::string("ring:1700")) {
        EXPECT_LE(ratio, 1.015) << odd.name << " " << cost;
      }
    }
}

}  // namespace
}  // namespace zoetrope
