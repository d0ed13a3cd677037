// Laws of simulated steps on random pools: spans add up, and the cost model's makespan where both say the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/check.h"
#include "schedule/planner.h"
#include "schedule/simulate_lanes.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + int64_t(random() % uint64_t(high - low + 1));
}

struct Problem {
  std::vector<int64_t> lengths;
  Cluster cluster;
  CostModel cost;
  Plan plan;
};

/// A random pool and a plan of a random planner for it.
Problem random_problem(std::mt19937_64& random, int64_t most_ranks) {
  Problem problem;
  problem.cluster.num_slots = pick(random, 1, most_ranks);
  problem.cluster.tokens_per_slot = pick(random, 100, 3000);
  const int64_t room = problem.cluster.num_slots * problem.cluster.tokens_per_slot;
  problem.lengths.resize(size_t(pick(random, 1, 120)));
  for (int64_t& length : problem.lengths)
    length = std::min(room, pick(random, 1, random() % 4 == 0 ? 20000 : 900));
  problem.cost = random_cost(random);
  problem.cost.mates_end_together = random() % 4 != 0;
  if (random() % 4 == 0) problem.cluster.execution = Execution::kWaves;
  const char* const planners[] = {"static", "static-balanced", "greedy-waves", "dynamic", "elastic"};
  try {
    problem.plan = make_plan({planners[random() % 5], 0}, problem.lengths, problem.cost, problem.cluster);
  } catch (const Error&) {  // the default plans whatever fits
    problem.plan = make_plan({"elastic", 0}, problem.lengths, problem.cost, problem.cluster);
  }
  return problem;
}

/// Spans lie end to end from 0 to the total, and each kind adds up to its figure.
void check_lanes(const Simulation& simulation) {
  for (size_t lane = 0; lane < simulation.lanes.size(); ++lane) {
    int64_t at = 0, sums[5] = {};
    for (const SimSpan& span : simulation.lanes[lane]) {
      ASSERT_EQ(span.begin_ns, at) << "lane " << lane;
      ASSERT_GT(span.end_ns, span.begin_ns) << "lane " << lane;
      sums[span.kind] += span.end_ns - span.begin_ns;
      at = span.end_ns;
    }
    ASSERT_EQ(at, simulation.total_ns) << "lane " << lane;
    ASSERT_EQ(sums[SimSpan::kCompute], simulation.busy_ns[lane]);
    ASSERT_EQ(sums[SimSpan::kTransfer], simulation.exposed_ns[lane]);
    ASSERT_EQ(sums[SimSpan::kWait], simulation.idle_ns[lane]);
    ASSERT_EQ(sums[SimSpan::kAllReduce], simulation.allreduce_ns);
    ASSERT_EQ(sums[SimSpan::kOptimizer], simulation.optimizer_ns);
  }
}

bool has_rings(const Plan& plan) {
  return std::any_of(plan.waves.begin(), plan.waves.end(),
                     [](const Wave& wave) { return !wave.rings.empty(); });
}

TEST(SimulateLaw, SpansAddUpAndMakespansAgreeWhereTheModelIsTheSame) {
  int with_rings = 0, compared = 0;
  for (int round = 0; round < rounds(150); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << round);
    std::mt19937_64 random(static_cast<uint64_t>(round));
    const Problem problem = random_problem(random, 40);
    const Execution execution = problem.cluster.execution;
    const Simulation simulation = simulate(problem.plan, problem.cost, execution);
    ASSERT_EQ(simulation.lanes.size(), size_t(problem.cluster.num_slots));
    ASSERT_NO_FATAL_FAILURE(check_lanes(simulation));
    const Makespan makespan = makespan_of(problem.plan, problem.cost, execution);
    with_rings += has_rings(problem.plan);
    if (problem.cost.mates_end_together && has_rings(problem.plan)) continue;
    ++compared;
    // What a ring-free last wave hides of the all-reduce is all that may differ, and the optimizer.
    ASSERT_EQ(simulation.total_ns - simulation.allreduce_ns - simulation.optimizer_ns,
              makespan.total_ns - int64_t(problem.cost.allreduce_ns));
    ASSERT_EQ(simulation.optimizer_ns, int64_t(problem.cost.optimizer_ns));
    ASSERT_LE(simulation.total_ns, makespan.total_ns + simulation.optimizer_ns);
    for (size_t lane = 0; lane < simulation.lanes.size(); ++lane)
      ASSERT_EQ(simulation.busy_ns[lane] + simulation.exposed_ns[lane], makespan.busy_ns[lane]);
  }
  EXPECT_GT(with_rings, rounds(16));
  EXPECT_GT(compared, rounds(16));
}

/// The cost set with links that take no time.
CostModel without_links(CostModel cost) {
  cost.transfer_ns = cost.transfer_between_ns = cost.latency_ns = cost.latency_between_ns = 0;
  cost.all_to_all_ns = cost.allreduce_ns = 0;
  return cost;
}
/// And with next to nothing but links.
CostModel links_alone(CostModel cost) {
  cost.linear_ns = 1e-9;  // not 0, which no cost set may have everywhere
  cost.quadratic_ns = cost.exchange_ns = cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  cost.allreduce_ns = 0;
  return cost;
}

// Compute is the cost model's up to a rounding per block, the step is never below the bound of compute alone,
// and at every time some rank computes or some transfer is under way: no wait is circular or for nothing.
TEST(SimulateLaw, RingsOfAnyPool) {
  constexpr int kMost = 80;
  int64_t num_rings[4] = {};
  const auto one_is_missing = [&] { return std::ranges::find(num_rings, 0) != std::end(num_rings); };
  for (int round = 0; round < rounds(kMost) || (round < kMost && one_is_missing()); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << round);
    std::mt19937_64 random(static_cast<uint64_t>(round));
    Problem problem = random_problem(random, round % 5 == 0 ? 200 : 24);
    problem.cost.mates_end_together = true;
    problem.cost.num_layers = pick(random, 0, 12);
    const Execution execution = problem.cluster.execution;
    const Simulation simulation = simulate(problem.plan, problem.cost, execution);
    ASSERT_NO_FATAL_FAILURE(check_lanes(simulation));
    ASSERT_EQ(simulate(problem.plan, problem.cost, execution).lanes, simulation.lanes);
    const CostModel compute = without_links(problem.cost);
    const int64_t done = simulation.total_ns - simulation.allreduce_ns - simulation.optimizer_ns;
    ASSERT_GE(done, lower_bound(problem.lengths, compute, problem.cluster));
    const Makespan least = makespan_of(problem.plan, compute, execution);
    const Makespan links = makespan_of(problem.plan, links_alone(problem.cost), execution);
    std::vector<int64_t> remote_blocks(simulation.lanes.size(), 0);
    for (const Wave& wave : problem.plan.waves)
      for (const Ring& ring : wave.rings) ++num_rings[int(ring.exchange)];
    for (const Wave& wave : problem.plan.waves)
      for (const RingView& ring : split_samples(wave))
        for (int member : ring.members) remote_blocks[size_t(member)] += int64_t(ring.members.size()) - 1;
    int64_t serial = 0;
    for (size_t lane = 0; lane < simulation.lanes.size(); ++lane) {
      ASSERT_LE(simulation.busy_ns[lane], least.busy_ns[lane]);
      ASSERT_GE(simulation.busy_ns[lane], least.busy_ns[lane] - 2 * remote_blocks[lane]);
      serial += simulation.busy_ns[lane] + links.busy_ns[lane];
    }
    ASSERT_LE(done, serial);
    ASSERT_LE(simulation.allreduce_ns, int64_t(problem.cost.allreduce_ns));
  }
  for (const Exchange exchange :
       {Exchange::kRing, Exchange::kAllGather, Exchange::kAllToAll, Exchange::kHierarchical})
    EXPECT_GT(num_rings[int(exchange)], 0) << name_of(exchange);
}

// Joined spans and a step in full detail differ in nothing but the order of spans inside a pass.
TEST(SimulateLaw, JoinedSpansKeepTheSums) {
  for (int round = 0; round < rounds(60); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << round);
    std::mt19937_64 random(static_cast<uint64_t>(round));
    const Problem problem = random_problem(random, 24);
    const Execution execution = problem.cluster.execution;
    const Simulation all = simulate_layers(problem.plan, problem.cost, execution, {4, 64, true});
    const Simulation joined = simulate_layers(problem.plan, problem.cost, execution, {4, 64, false});
    ASSERT_NO_FATAL_FAILURE(check_lanes(joined));
    ASSERT_EQ(joined.total_ns, all.total_ns);
    ASSERT_EQ(joined.busy_ns, all.busy_ns);
    ASSERT_EQ(joined.exposed_ns, all.exposed_ns);
    for (size_t lane = 0; lane < joined.lanes.size(); ++lane)  // wait, compute, transfer in two passes
      ASSERT_LE(joined.lanes[lane].size(), 6 * problem.plan.waves.size() + 3);
  }
}

TEST(SimulateLaw, StagesTakeWhatPipelinesTake) {
  for (int round = 0; round < rounds(100); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << round);
    std::mt19937_64 random(static_cast<uint64_t>(round));
    Problem problem = random_problem(random, 8);
    const PipelineShape shape{pick(random, 1, 5), pick(random, 1, 3), pick(random, 1, 4)};
    const Simulation simulation = simulate(problem.plan, problem.cost, shape);
    const PipelineRun run = simulate_pipeline(problem.plan, problem.cost, shape);
    ASSERT_NO_FATAL_FAILURE(check_lanes(simulation));
    ASSERT_EQ(simulation.total_ns, run.total_ns + int64_t(problem.cost.optimizer_ns));
    ASSERT_EQ(simulation.peak_tokens, run.tokens_in_flight);
    for (size_t lane = 0; lane < simulation.lanes.size(); ++lane)
      ASSERT_EQ(simulation.busy_ns[lane] + simulation.exposed_ns[lane], run.busy_ns[lane]);
  }
}

}  // namespace
}  // namespace zoetrope
