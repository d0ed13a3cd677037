#include "tools/plan_report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/check.h"
#include "core/files.h"
#include "schedule/bound.h"
#include "schedule/fixed_cost.h"
#include "schedule/pipeline.h"
#include "schedule/static.h"
#include "tools/dry_run.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

/// All of a few; of many the first and the last, and how many there are. `sizes` ascending.
std::string join_sizes(const std::vector<int64_t>& sizes) {
  constexpr size_t kMost = 16;
  if (sizes.size() > kMost)
    return format_text("%lld ... %lld (%zu sizes)", static_cast<long long>(sizes.front()),
                       static_cast<long long>(sizes.back()), sizes.size());
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : " ") + std::to_string(size);
  return text;
}

/// "#7 312, #2 [0, 512) of 1500 in 3": what a slot holds in a wave.
std::string holdings(const PlanProblem& problem, const std::vector<Shard>& slot,
                     const std::map<int64_t, size_t>& ring_sizes) {
  std::string text;
  for (const Shard& shard : slot) {
    text += format_text("%s#%lld ", text.empty() ? "" : ", ",
                        static_cast<long long>(problem.samples[size_t(shard.sample)]));
    const auto ring = ring_sizes.find(shard.sample);
    if (ring == ring_sizes.end()) text += std::to_string(shard.num_tokens());
    else
      text += format_text("[%lld, %lld) of %lld on %zu", static_cast<long long>(shard.begin),
                          static_cast<long long>(shard.end),
                          static_cast<long long>(problem.lengths[size_t(shard.sample)]), ring->second);
  }
  return text.empty() ? "-" : text;
}

Plan plan_of(const PlanProblem& problem, const PlanRequest& request) {
  if (request.planner == "pipeline")
    return plan_pipeline(problem.lengths, problem.cost, problem.cluster, shape_of(problem));
  return make_plan(request, problem.lengths, problem.cost, problem.cluster);
}

/// Busy times are of one stage of each pipeline: all take the same.
Makespan makespan_on_pipelines(const PlanProblem& problem, const Plan& plan) {
  const PipelineRun run = simulate_pipeline(plan, problem.cost, shape_of(problem));
  Makespan makespan;
  makespan.total_ns = run.total_ns;
  int64_t most = 0, sum = 0;
  for (size_t first = 0; first < run.busy_ns.size(); first += size_t(problem.stages)) {
    makespan.busy_ns.push_back(run.busy_ns[first]);
    most = std::max(most, run.busy_ns[first]);
    sum += run.busy_ns[first];
  }
  if (sum > 0) makespan.max_over_mean = double(most) * double(makespan.busy_ns.size()) / double(sum);
  return makespan;
}

/// What a planner's steps add up to.
struct StepSum {
  std::string planner;
  int64_t makespan = 0, bound = 0, ideal = 0;
  double milliseconds = 0;
};

}  // namespace

const char* name_of(Execution execution) { return execution == Execution::kWaves ? "waves" : "free"; }

const char* execution_name(const PlanProblem& problem) {
  return problem.stages > 1 ? "pipeline" : name_of(problem.cluster.execution);
}

Execution execution_of(const std::string& name) {
  if (name == "free") return Execution::kFree;
  if (name == "waves") return Execution::kWaves;
  throw UsageError(join_message("--execution '", name, "', expected free or waves"));
}

PipelineShape shape_of(const PlanProblem& problem) {
  return pipeline_shape(problem.cost, problem.stages, problem.lengths);
}

Simulation simulate(const PlanProblem& problem, const Plan& plan) {
  if (problem.stages > 1) return simulate(plan, problem.cost, shape_of(problem));
  return simulate(plan, problem.cost, problem.cluster.execution);
}

Makespan makespan_of(const PlanProblem& problem, const Plan& plan) {
  if (problem.stages > 1) return makespan_on_pipelines(problem, plan);
  return makespan_of(plan, problem.cost, problem.cluster.execution);
}

int64_t bound_of(const PlanProblem& problem, const std::vector<int64_t>& lengths) {
  if (problem.stages > 1) return pipeline_bound(lengths, problem.cost, problem.cluster, shape_of(problem));
  return lower_bound(lengths, problem.cost, problem.cluster);
}

namespace {

void add_simulated(const PlanProblem& problem, PlanReport& report) {
  const Simulation simulation = simulate(problem, report.plan);
  report.simulated_ns = simulation.total_ns;
  report.exposed_ns = figure_of(simulation.exposed_ns);
  report.idle_ns = figure_of(simulation.idle_ns);
  report.mfu = simulation.mfu;
}

/// All figures but the simulator's. `is_first`: of a process, which pays for page faults; a quick one is
/// timed in a second run.
PlanReport measured_plan(const PlanProblem& problem, const PlanRequest& request, bool is_first) {
  constexpr double kQuickMilliseconds = 500;
  PlanReport report;
  report.planner = request.planner;
  report.cp = request.cp;
  const auto run = [&] {
    const auto begin = std::chrono::steady_clock::now();
    report.plan = plan_of(problem, request);
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    report.plan_milliseconds = passed.count();
  };
  run();
  if (is_first && report.plan_milliseconds < kQuickMilliseconds) run();
  validate_plan(report.plan, problem.lengths, problem.cluster.num_slots);
  if (!problem.memory.stages.empty())
    report.peak_bytes = checked_peak_bytes(problem.memory, report.plan, problem.cluster);
  report.makespan = makespan_of(problem, report.plan);
  report.bound_ns = bound_of(problem, problem.lengths);
  report.ideal_ns = ideal_ns(problem.lengths, problem.cost, problem.cluster.num_slots * problem.stages);
  double moved = 0, total = 0;
  for (int64_t tokens : problem.lengths) total += double(tokens);
  for (const Wave& wave : report.plan.waves)
    for (const RingView& ring : split_samples(wave)) {
      const int64_t size = int64_t(ring.members.size());
      moved += double(size - 1) * double(problem.lengths[size_t(ring.sample)]);
      report.largest_ring = std::max(report.largest_ring, size);
      ++report.split_samples;
    }
  report.moved = total > 0 ? moved / total : 0;
  return report;
}

/// A tenth of a second each to plan and to simulate: larger ones only when they may be the choice.
constexpr int64_t kManyShards = 1'000'000;

/// True for a size of very many shards whose work alone takes longer than `fastest_ns`.
bool is_surely_slower(const PlanProblem& problem, int64_t cp, int64_t fastest_ns) {
  if (problem.stages > 1 || int64_t(problem.lengths.size()) <= kManyShards / cp) return false;
  const FixedCost cost(problem.cost);
  std::vector<int64_t> sorted = problem.lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return work_exceeds(sorted, cost, problem.cluster, cp, fastest_ns - cost.allreduce);
}

/// 24 bytes a shard, of which a plan and its simulation have several copies.
void check_num_shards(const PlanProblem& problem, int64_t cp) {
  constexpr int64_t kMostShards = int64_t(1) << 25;
  const int64_t samples = int64_t(problem.lengths.size());
  ZT_REQUIRE(samples <= kMostShards / cp, "plan: ", samples, " samples in rings of ", cp, " are ",
             samples * cp, " shards, expected at most ", kMostShards,
             "; use a smaller --cp, a smaller step, or --planner elastic");
}

int64_t num_shards(const Plan& plan) {
  int64_t shards = 0;
  for (const Wave& wave : plan.waves)
    for (const auto& slot : wave.slots) shards += int64_t(slot.size());
  return shards;
}

}  // namespace

PlanReport report_plan(const PlanProblem& problem, const PlanRequest& request) {
  PlanReport report = measured_plan(problem, request, false);
  add_simulated(problem, report);
  return report;
}

std::vector<PlanReport> report_planner(const PlanProblem& problem, const PlanRequest& request) {
  check_batch(problem.lengths, problem.cluster);
  if (!fixes_cp_size(request.planner) || request.cp > 0) {
    check_num_shards(problem, std::max<int64_t>(1, request.cp));
    std::vector<PlanReport> one{measured_plan(problem, request, true)};
    add_simulated(problem, one[0]);
    return one;
  }
  std::vector<PlanReport> reports;
  std::vector<int64_t> slower_cp;
  int64_t fastest_ns = INT64_MAX;
  for (int64_t cp : feasible_cp_sizes(problem.lengths, problem.cluster)) {
    if (!reports.empty() && is_surely_slower(problem, cp, fastest_ns)) {
      slower_cp.push_back(cp);
      continue;
    }
    check_num_shards(problem, cp);
    reports.push_back(measured_plan(problem, {request.planner, cp}, reports.empty()));
    fastest_ns = std::min(fastest_ns, reports.back().makespan.total_ns);
  }
  ZT_REQUIRE(!reports.empty(), "plan: no CP size that divides ", problem.cluster.num_slots,
             " ranks fits the longest sample into ", problem.cluster.tokens_per_slot,
             " tokens per rank; use --planner elastic, more ranks or more memory per rank");
  reports.front().smallest = true;
  PlanReport& fastest = *std::min_element(
      reports.begin(), reports.end(),
      [](const PlanReport& a, const PlanReport& b) { return a.makespan.total_ns < b.makespan.total_ns; });
  fastest.fastest = true;
  fastest.slower_cp = std::move(slower_cp);
  for (PlanReport& report : reports)
    if (report.fastest || num_shards(report.plan) <= kManyShards) add_simulated(problem, report);
  return reports;
}

std::vector<const PlanReport*> fastest_sizes(const std::vector<PlanReport>& reports) {
  std::vector<const PlanReport*> fastest;
  for (const PlanReport& report : reports) {
    const bool other = std::any_of(reports.begin(), reports.end(), [&](const PlanReport& each) {
      return each.planner == report.planner && each.fastest;
    });
    if (report.fastest || !other) fastest.push_back(&report);
  }
  return fastest;
}

const PlanReport& fastest_of(const std::vector<PlanReport>& reports) {
  for (const PlanReport& report : reports)
    if (report.fastest) return report;
  return reports.back();
}

namespace {

/// Simulated step, exposed and idle parts of it, MFU; dashes where they are not known.
std::string simulated_columns(const PlanReport& report) {
  const double step = double(report.simulated_ns);
  const auto number = [](bool known, const char* pattern, double value) {
    return known ? format_text(pattern, value) : std::string("-");
  };
  return format_text("%13s %7s %7s %5s", number(step > 0, "%.3f", step / 1e6).c_str(),
                     number(step > 0, "%.4f", report.exposed_ns.mean / step).c_str(),
                     number(step > 0, "%.4f", report.idle_ns.mean / step).c_str(),
                     number(report.mfu > 0, "%.3f", report.mfu).c_str());
}

}  // namespace

std::string summary_table(const std::vector<PlanReport>& reports) {
  std::string text =
      format_text("%-16s %4s %13s %13s %8s %10s %13s %7s %7s %5s %9s %11s %6s %7s %6s %8s  %s\n", "planner",
                  "cp", "makespan ms", "bound ms", "ratio", "efficiency", "simulated ms", "exposed", "idle",
                  "MFU", "max/mean", "tokens/rank", "waves", "split", "moved", "plan ms", "CP sizes used");
  for (const PlanReport& report : reports) {
    text += format_text(
        "%-16s %4s %13.3f %13.3f %8.4f %10.4f %s %9.3f %11lld %6zu %7lld "
        "%6.2f %8.3f  %s",
        report.planner.c_str(), report.cp > 0 ? std::to_string(report.cp).c_str() : "any",
        double(report.makespan.total_ns) / 1e6, double(report.bound_ns) / 1e6, report.ratio(),
        report.efficiency(), simulated_columns(report).c_str(), report.makespan.max_over_mean,
        static_cast<long long>(max_tokens_per_slot(report.plan)), report.plan.waves.size(),
        static_cast<long long>(report.split_samples), report.moved, report.plan_milliseconds,
        join_sizes(cp_sizes_of(report.plan)).c_str());
    text += report.fastest ? "  <- fastest" : "";
    text += report.smallest ? "  <- smallest that fits" : "";
    text += "\n";
  }
  for (const PlanReport& report : reports)
    if (!report.slower_cp.empty())
      text += report.planner + ": CP sizes " + join_sizes(report.slower_cp) +
              " were not planned: their work alone takes longer\n";
  return text;
}

std::string rank_table(const PlanProblem& problem, const PlanReport& report) {
  std::string text = format_text("%5s %5s %8s  %s\n", "wave", "rank", "tokens",
                                 "holds (#sample tokens; split: [begin, end) of tokens on ranks)");
  constexpr int64_t kMostPrinted = 100'000;  // shards; some megabytes
  const int64_t shards = num_shards(report.plan);
  if (shards > kMostPrinted)
    text = format_text("%lld shards are too many to print; --plan-out FILE writes them\n",
                       static_cast<long long>(shards));
  for (size_t w = 0; shards <= kMostPrinted && w < report.plan.waves.size(); ++w) {
    const Wave& wave = report.plan.waves[w];
    std::map<int64_t, size_t> ring_sizes;
    for (const RingView& ring : split_samples(wave)) ring_sizes[ring.sample] = ring.members.size();
    for (size_t slot = 0; slot < wave.slots.size(); ++slot)
      text +=
          format_text("%5zu %5zu %8lld  %s\n", w, slot, static_cast<long long>(tokens_of(wave.slots[slot])),
                      holdings(problem, wave.slots[slot], ring_sizes).c_str());
  }
  const size_t stages = size_t(problem.stages);
  for (size_t slot = 0; slot < report.makespan.busy_ns.size(); ++slot) {
    text += format_text("rank %zu busy %.3f ms", slot, double(report.makespan.busy_ns[slot]) / 1e6);
    if (!report.peak_bytes.empty()) {
      const auto first = report.peak_bytes.begin() + int64_t(slot * stages);
      text += format_text(", peak %.3f of %.3f GB",
                          1e-9 * double(*std::max_element(first, first + int64_t(stages))),
                          1e-9 * double(problem.memory.limit));
    }
    text += "\n";
  }
  return text;
}

std::string steps_table(const std::vector<std::vector<PlanReport>>& steps, int64_t first_step) {
  std::string text =
      format_text("%-6s %-16s %4s %14s %14s %8s %10s %6s %6s %8s\n", "step", "planner", "cp", "makespan ms",
                  "bound ms", "ratio", "efficiency", "waves", "moved", "plan ms");
  std::vector<StepSum> sums;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const PlanReport& report : steps[i]) {
      text +=
          format_text("%-6lld %-16s %4s %14.3f %14.3f %8.4f %10.4f %6zu %6.2f %8.3f\n",
                      static_cast<long long>(first_step + int64_t(i)), report.planner.c_str(),
                      report.cp > 0 ? std::to_string(report.cp).c_str() : "any",
                      double(report.makespan.total_ns) / 1e6, double(report.bound_ns) / 1e6, report.ratio(),
                      report.efficiency(), report.plan.waves.size(), report.moved, report.plan_milliseconds);
      auto sum = std::find_if(sums.begin(), sums.end(),
                              [&](const StepSum& each) { return each.planner == report.planner; });
      if (sum == sums.end()) sum = sums.insert(sum, StepSum{report.planner});
      sum->makespan += report.makespan.total_ns, sum->bound += report.bound_ns, sum->ideal += report.ideal_ns;
      sum->milliseconds += report.plan_milliseconds;
    }
  for (const StepSum& sum : sums)
    text += format_text("%-6s %-16s %4s %14.3f %14.3f %8.4f %10.4f %6s %6s %8.3f\n", "sum",
                        sum.planner.c_str(), "", double(sum.makespan) / 1e6, double(sum.bound) / 1e6,
                        sum.bound > 0 ? double(sum.makespan) / double(sum.bound) : 1,
                        sum.makespan > 0 ? double(sum.ideal) / double(sum.makespan) : 1, "", "",
                        sum.milliseconds);
  return text;
}

std::string report_json(const PlanProblem& problem, const PlanReport& report, const Verdict* verdict) {
  const int64_t tokens = std::accumulate(problem.lengths.begin(), problem.lengths.end(), int64_t(0));
  nlohmann::ordered_json object{{"planner", report.planner},
                                {"cp", report.cp},
                                {"step", problem.step},
                                {"ranks", problem.cluster.num_slots},
                                {"samples", problem.lengths.size()},
                                {"tokens", tokens},
                                {"dropped", 0},
                                {"tokens_per_rank_cap", problem.cluster.tokens_per_slot},
                                {"cost", problem.cost.name},
                                {"cost_hash", hex64(hash_of(problem.cost))},
                                {"execution", execution_name(problem)},
                                {"stages", problem.stages},
                                {"unit", "ns"},
                                {"makespan", report.makespan.total_ns},
                                {"bound", report.bound_ns},
                                {"ideal", report.ideal_ns},
                                {"ratio", report.ratio()},
                                {"efficiency", report.efficiency()},
                                {"rank_max_over_mean", report.makespan.max_over_mean},
                                {"busy", report.makespan.busy_ns},
                                {"plan_ms", report.plan_milliseconds},
                                {"max_tokens_per_rank", max_tokens_per_slot(report.plan)},
                                {"waves", report.plan.waves.size()},
                                {"moved", report.moved},
                                {"split_samples", report.split_samples},
                                {"largest_ring", report.largest_ring},
                                {"cp_sizes", cp_sizes_of(report.plan)},
                                {"peak_bytes", report.peak_bytes},
                                {"memory_limit", problem.memory.limit},
                                {"plan_hash", hex64(hash_of(report.plan))},
                                {"fastest", report.fastest},
                                {"smallest", report.smallest}};
  if (!report.slower_cp.empty()) object["slower_cp"] = report.slower_cp;
  if (!report.peak_bytes.empty()) {
    const FullestRank rank = fullest_rank(problem.memory, problem.cluster, report.peak_bytes);
    nlohmann::ordered_json& memory = object["fullest_rank"];
    memory = {{"rank", rank.slot}, {"stage", rank.stage}, {"peak_bytes", rank.peak_bytes}};
    for (const MemoryPart& part : rank.parts) memory[part.name] = part.bytes;
  }
  if (report.simulated_ns > 0)
    object.update({{"simulated", report.simulated_ns},
                   {"optimizer", int64_t(problem.cost.optimizer_ns)},
                   {"exposed_mean", report.exposed_ns.mean},
                   {"exposed_max", report.exposed_ns.most},
                   {"idle_mean", report.idle_ns.mean},
                   {"idle_max", report.idle_ns.most},
                   {"mfu", report.mfu}});
  if (problem.epoch_samples > 0) {
    object["epoch_samples"] = problem.epoch_samples;
    object["epoch_steps"] = double(problem.epoch_samples) / double(problem.samples.size());
    object["epoch_ns"] = epoch_ns(problem, report);
  }
  if (verdict != nullptr)
    object["verdict"] = {{"pays", verdict->pays},         {"gain", verdict->gain},
                         {"headline", verdict->headline}, {"rivals", verdict->rivals},
                         {"reasons", verdict->reasons},   {"changes", verdict->changes}};
  return object.dump();
}

}  // namespace zoetrope
