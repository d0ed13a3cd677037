#include "tools/bench_scale.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/even_shards.h"
#include "schedule/planner.h"
#include "schedule/simulate.h"
#include "schedule/static.h"
#include "schedule/trace.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

struct Problem {
  std::vector<int64_t> lengths;
  CostModel cost;
  Cluster cluster;
};

StaticChoice choice_of(const Problem& problem, const std::string& planner) {
  if (!fixes_cp_size(planner))
    return {0, 0, make_plan({planner, 0}, problem.lengths, problem.cost, problem.cluster)};
  StaticChoice best = planner == "static"
                          ? best_static(problem.lengths, problem.cost, problem.cluster)
                          : best_static_balanced(problem.lengths, problem.cost, problem.cluster, INT64_MAX);
  ZT_REQUIRE(best.cp > 0, "no CP size fits the longest sample");
  return best;
}

/// Adds one step; on failure the planner has no figure for the pool.
void add_step(const Problem& problem, ScalePlanner& sum) {
  if (!sum.failure.empty()) return;
  try {
    const auto begin = std::chrono::steady_clock::now();
    const StaticChoice choice = choice_of(problem, sum.planner);
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    validate_plan(choice.plan, problem.lengths, problem.cluster.num_slots);
    const Simulation simulation = simulate(choice.plan, problem.cost, problem.cluster.execution);
    sum.total_ns += makespan_of(choice.plan, problem.cost, problem.cluster.execution).total_ns;
    sum.simulated_ns += simulation.total_ns;
    sum.plan_ms += passed.count();
    if (choice.cp > 0) sum.cp_sizes.push_back(choice.cp);
    sum.exposed += figure_of(simulation.exposed_ns).mean;
    sum.idle += figure_of(simulation.idle_ns).mean;
    sum.mfu += double(simulation.total_ns) * simulation.mfu;
  } catch (const UsageError&) { throw; } catch (const Error& reason) {
    sum.failure = reason.what();
  }
}

ScaleRow row_of(const ScaleBench& bench, const std::string& cost, const std::string& trace, int64_t gpus) {
  ScaleRow row;
  row.cost = cost, row.trace = trace, row.gpus = gpus, row.samples = gpus * bench.samples_per_gpu;
  for (const char* planner : {"static", "static-balanced", "greedy-waves", "elastic"})
    row.planners.push_back({planner});
  Problem problem{{}, find_cost(cost), {gpus, bench.tokens_per_rank}};
  for (int64_t step = 0; step < scale_steps(row.samples); ++step) {
    problem.lengths = trace_lengths(find_trace(trace), bench.seed, step * row.samples, row.samples);
    const int64_t longest = *std::max_element(problem.lengths.begin(), problem.lengths.end());
    if (longest > gpus * bench.tokens_per_rank) {
      ++row.left_out;
      row.longest_left_out = std::max(row.longest_left_out, longest);
      continue;
    }
    ++row.steps;
    row.bound_ns += lower_bound(problem.lengths, problem.cost, problem.cluster);
    row.ideal_ns += ideal_ns(problem.lengths, problem.cost, gpus);
    for (ScalePlanner& planner : row.planners) add_step(problem, planner);
  }
  for (ScalePlanner& planner : row.planners) {
    if (row.steps == 0) planner.failure = "every step has a sample that the pool can't hold";
    if (!planner.failure.empty()) continue;
    const double total = double(std::max<int64_t>(1, planner.simulated_ns));
    planner.exposed /= total, planner.idle /= total, planner.mfu /= total;
    planner.plan_ms /= double(row.steps);
  }
  return row;
}

std::string sizes_of(const ScalePlanner& planner) {
  if (planner.cp_sizes.empty()) return "";
  const auto [least, most] = std::minmax_element(planner.cp_sizes.begin(), planner.cp_sizes.end());
  if (*least == *most) return format_text("(%lld)", static_cast<long long>(*least));
  return format_text("(%lld-%lld)", static_cast<long long>(*least), static_cast<long long>(*most));
}

void print_row(const ScaleRow& row) {
  std::printf("%-14s %-5s %6lld %5lld", row.cost.c_str(), row.trace.c_str(), static_cast<long long>(row.gpus),
              static_cast<long long>(row.steps));
  for (const char* name : {"static", "static-balanced", "greedy-waves"}) {
    const double speed_up = row.speed_up(name);
    const std::string text = speed_up > 0
                                 ? format_text("%.3f %s", speed_up, sizes_of(row.planner(name)).c_str())
                                 : std::string("no plan");
    std::printf("  %-15s", text.c_str());
  }
  const ScalePlanner& ours = row.planner("elastic");
  std::printf("  %8.4f  %10.3f  %5.1f %%", row.ratio(), ours.plan_ms, 100 * ours.mfu);
  if (row.left_out > 0)
    std::printf("  %lld of %lld steps left out: the pool can't hold a sample of %s tokens",
                static_cast<long long>(row.left_out), static_cast<long long>(row.steps + row.left_out),
                with_commas(row.longest_left_out).c_str());
  std::printf("\n");
  for (const ScalePlanner& planner : row.planners)
    if (!planner.failure.empty()) std::printf("  %s: %s\n", planner.planner.c_str(), planner.failure.c_str());
  std::fflush(stdout);
}

}  // namespace

const ScalePlanner& ScaleRow::planner(const std::string& name) const {
  for (const ScalePlanner& each : planners)
    if (each.planner == name) return each;
  throw Error("bench scale: no planner '" + name + "'");
}

double ScaleRow::speed_up(const std::string& over) const {
  const ScalePlanner &rival = planner(over), &ours = planner("elastic");
  if (!rival.failure.empty() || !ours.failure.empty() || ours.simulated_ns == 0) return 0;
  return double(rival.simulated_ns) / double(ours.simulated_ns);
}

double ScaleRow::planned_speed_up(const std::string& over) const {
  const ScalePlanner &rival = planner(over), &ours = planner("elastic");
  if (!rival.failure.empty() || !ours.failure.empty() || ours.total_ns == 0) return 0;
  return double(rival.total_ns) / double(ours.total_ns);
}

double ScaleRow::ratio() const {
  const ScalePlanner& ours = planner("elastic");
  return ours.failure.empty() && bound_ns > 0 ? double(ours.total_ns) / double(bound_ns) : 0;
}

int64_t scale_steps(int64_t samples) {
  return std::clamp<int64_t>(2048 / std::max<int64_t>(1, samples), 1, 8);
}

std::vector<ScaleRow> run_bench_scale(const ScaleBench& bench) {
  for (const std::string& trace : bench.traces) find_trace(trace);
  for (const std::string& cost : bench.costs) find_cost(cost);
  if (bench.prints)
    std::printf(
        "simulated speed-up of elastic over planners (best CP size), %lld samples per GPU, at most %lld "
        "tokens "
        "per rank\n%-14s %-5s %6s %5s  %-15s  %-15s  %-15s  %8s  %10s  %s\n",
        static_cast<long long>(bench.samples_per_gpu), static_cast<long long>(bench.tokens_per_rank),
        "cost set", "trace", "GPUs", "steps", "static", "static-balanced", "greedy-waves", "x bound",
        "plan ms", "MFU");
  std::vector<ScaleRow> rows;
  for (const std::string& cost : bench.costs)
    for (const std::string& trace : bench.traces)
      for (int64_t gpus : bench.gpus) {
        rows.push_back(row_of(bench, cost, trace, gpus));
        if (bench.prints) print_row(rows.back());
      }
  return rows;
}

}  // namespace zoetrope
