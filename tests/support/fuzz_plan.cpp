#include "tests/support/fuzz_plan.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "core/check.h"
#include "schedule/memory.h"
#include "tests/support/brute_force.h"
#include "tests/support/length_lists.h"
#include "tests/support/plan_check.h"
#include "tests/support/random_cost.h"

namespace zoetrope {
namespace {

const char* execution_of(const FuzzCase& problem) {
  if (problem.stages > 1) return "pipeline";
  return problem.cluster.execution == Execution::kWaves ? "waves" : "free";
}

/// Ends the process when it isn't called off in time: a planner that doesn't come back can't be stopped.
class Deadline {
 public:
  Deadline(double seconds, std::string what)
      : watch_([this, seconds, what = std::move(what)] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_done_; }))
            return;
          std::fprintf(stderr, "still planning after %g s: %s\n", seconds, what.c_str());
          std::abort();
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    watch_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread watch_;  // last: it uses the rest
};

Plan plan_with(const FuzzCase& problem, const std::string& planner) {
  if (planner == "pipeline")
    return plan_pipeline(problem.lengths, problem.cost, problem.cluster, {problem.stages});
  return make_plan({planner, 0}, problem.lengths, problem.cost, problem.cluster);
}

int64_t total_of(const FuzzCase& problem, const Plan& plan) {
  if (problem.stages > 1) return simulate_pipeline(plan, problem.cost, {problem.stages}).total_ns;
  return makespan_of(plan, problem.cost, problem.cluster.execution).total_ns;
}

int64_t bound_of(const FuzzCase& problem) {
  if (problem.stages > 1)
    return pipeline_bound(problem.lengths, problem.cost, problem.cluster, {problem.stages});
  return lower_bound(problem.lengths, problem.cost, problem.cluster);
}

void check_bytes(const FuzzCase& problem, const Plan& plan) {
  if (problem.cluster.segments_per_slot == 0) return;
  const MemoryModel memory{12345, 17, 4001, 3, 11, 907, problem.stages};
  check_plan_memory(plan_peak_bytes(memory, plan, problem.cluster), peak_bytes(memory, problem.cluster));
}

bool is_tiny(const FuzzCase& problem) {
  int64_t tokens = 0;
  for (const int64_t length : problem.lengths) tokens += length;
  return problem.stages == 1 && problem.cluster.num_slots <= 3 && problem.lengths.size() <= 3 &&
         tokens <= 9 && problem.cluster.execution == Execution::kFree && tokens > 0;
}

/// Planners whose sizes are powers of two or given beforehand may find no place for a sample that fits.
bool may_give_up(const std::string& planner) { return planner == "greedy-waves" || planner == "bags"; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Every planner must say which sample it is.
void check_refusal(const FuzzCase& problem, const std::string& planner, FuzzStatistics& statistics) {
  try {
    plan_with(problem, planner);
  } catch (const Error& error) {
    ++statistics.refused;
    ZT_CHECK(std::string(error.what()).find("sample ") != std::string::npos, planner, ": '", error.what(),
             "' names no sample; ", problem.text());
    return;
  }
  throw Error(join_message(planner, " planned what can't fit; ", problem.text()));
}

}  // namespace

std::string FuzzCase::text() const {
  int64_t tokens = 0, longest = 0;
  for (const int64_t length : lengths) tokens += length, longest = std::max(longest, length);
  return join_message("seed ", seed, ": ", lengths.size(), " samples, ", tokens, " tokens, longest ", longest,
                      ", on ", cluster.num_slots, " slots of ", cluster.tokens_per_slot, " tokens and ",
                      cluster.segments_per_slot, " segments, ", stages, " stages, ", execution_of(*this),
                      ", cost ", cost.name,
                      cost.ranks_per_node > 1 ? join_message(", nodes of ", cost.ranks_per_node) : "",
                      cost.num_heads > 0 ? ", schemes" : "", cost.mates_end_together ? ", mates wait" : "");
}

FuzzCase random_case(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](uint64_t count) { return random() % count; };
  FuzzCase problem;
  problem.seed = seed;
  const int64_t most_slots[] = {3, 16, 64, 200}, most_samples[] = {3, 40, 200, 800};
  const uint64_t size = one_of(4);
  RandomProblem drawn = random_problem(random, most_slots[size], most_samples[one_of(size + 1)]);
  if (size == 0 && one_of(2) == 0) {  // small enough to try all plans
    drawn.tokens_per_slot = 1 + int64_t(one_of(5));
    for (int64_t& length : drawn.lengths)
      length = 1 + int64_t(one_of(uint64_t(std::min<int64_t>(4, drawn.num_slots * drawn.tokens_per_slot))));
  }
  problem.lengths = std::move(drawn.lengths);
  problem.cluster = {drawn.num_slots, drawn.tokens_per_slot, drawn.segments_per_slot};
  problem.cost = random_cost(random);
  problem.cost.name = "random";
  problem.cost.mates_end_together = one_of(2) == 0;
  const std::vector<CostModel>& sets = built_in_costs();
  if (one_of(3) == 0) problem.cost = sets[one_of(sets.size())];
  if (one_of(8) == 0)
    problem.cost = *find_paper_cost(
        std::vector<std::string>{"square", "square-linear", "ring:1700", "ring:25000"}[one_of(4)]);
  const uint64_t execution = one_of(3);
  if (execution == 1) problem.cluster.execution = Execution::kWaves;
  if (execution == 2) problem.stages = 2 + int64_t(one_of(7));
  if (one_of(20) == 0 && !problem.lengths.empty()) {
    problem.fits = false;
    problem.lengths[one_of(problem.lengths.size())] =
        drawn.num_slots * drawn.tokens_per_slot + 1 + int64_t(one_of(100));
  }
  return problem;
}

void check_case(const FuzzCase& problem, double seconds_per_planner, FuzzStatistics& statistics) {
  ++statistics.cases;
  const std::string execution = execution_of(problem), best = problem.stages > 1 ? "pipeline" : "elastic";
  std::vector<std::string> planners = planner_names();
  if (problem.stages > 1) planners.push_back("pipeline");
  const int64_t bound = problem.fits ? bound_of(problem) : 0;
  std::map<std::string, int64_t> totals;
  for (const std::string& planner : planners) {
    const std::string what = planner + ", " + problem.text();
    const Deadline deadline(seconds_per_planner, what);
    if (!problem.fits) {
      check_refusal(problem, planner, statistics);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    Plan plan;
    try {
      plan = plan_with(problem, planner);
    } catch (const Error& error) {
      ZT_CHECK(may_give_up(planner), what, ": ", error.what());
      ++statistics.gave_up[planner];
      continue;
    }
    const double seconds = seconds_since(start);
    if (seconds > statistics.slowest_seconds) statistics.slowest_seconds = seconds, statistics.slowest = what;
    ++statistics.plans;
    try {
      check_plan(plan, problem.lengths, problem.cluster, {24, 1});
      check_bytes(problem, plan);
    } catch (const Error& error) { throw Error(join_message(what, ": ", error.what())); }
    ZT_CHECK(hash_of(plan_with(problem, planner)) == hash_of(plan), what, ": another plan the second time");
    totals[planner] = total_of(problem, plan);
    ZT_CHECK(totals[planner] >= bound, what, ": ", totals[planner], " ns, below the bound of ", bound);
  }
  if (!problem.fits) return;
  if (is_tiny(problem)) {
    const int64_t least = least_makespan(problem.lengths, problem.cost, problem.cluster);
    ZT_CHECK(bound <= least, problem.text(), ": bound ", bound, " above the least makespan ", least);
    ZT_CHECK(totals[best] >= least, problem.text(), ": ", totals[best], " below the least makespan ", least);
  }
  ++statistics.compared[execution];
  FuzzStatistics::Behind behind;
  for (const auto& [planner, total] : totals) {
    const double ratio = total > 0 ? double(totals[best]) / double(total) : 1;
    if (ratio > behind.ratio) behind = {ratio, planner, problem.text()};
  }
  if (behind.ratio > 1) statistics.behind[execution].push_back(behind);
}

std::string FuzzStatistics::text() const {
  std::string text =
      join_message(cases, " cases, ", plans, " plans, ", refused, " refusals of what can't fit\n");
  for (const auto& [planner, count] : gave_up)
    text += join_message(planner, " had no place in ", count, " cases\n");
  text += join_message("slowest planning ", slowest_seconds, " s: ", slowest, "\n");
  for (const auto& [execution, count] : compared) {
    std::vector<Behind> worst;
    if (behind.count(execution)) worst = behind.at(execution);
    std::sort(worst.begin(), worst.end(), [](const Behind& a, const Behind& b) { return a.ratio > b.ratio; });
    text += join_message(execution, ": the default planner is behind another in ", worst.size(), " of ",
                         count, " cases");
    if (!worst.empty()) text += join_message(", median ", worst[worst.size() / 2].ratio, " of these");
    text += "\n";
    for (size_t i = 0; i < std::min<size_t>(3, worst.size()); ++i)
      text += join_message("  ", worst[i].ratio, " of ", worst[i].planner, ", ", worst[i].problem, "\n");
  }
  return text;
}

}  // namespace zoetrope
