// zoetrope plan: lengths -> plan, printed. What a training step would do, before anything runs.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

#include "core/files.h"
#include "schedule/order.h"
#include "tools/commands.h"
#include "tools/length_file.h"
#include "tools/plan_report.h"
#include "video/dataset.h"

namespace zoetrope {
namespace {

struct PlanToolOptions {
  std::string data, lengths, planner = "elastic", cost, plan_out;
  int64_t ranks = 0, batch = 0, memory_per_rank = 0, tokens_per_rank = 0, cp = 0, seed = 0, step = 0;
  bool json = false;
};

void check(const PlanToolOptions& options) {
  const auto require = [](bool condition, const auto&... text) {
    if (!condition) throw UsageError(join_message(text...));
  };
  require(options.data.empty() != options.lengths.empty(), "plan: give either --data DATASET or --lengths FILE");
  require(options.ranks > 0, "plan: --ranks is ", options.ranks, ", expected at least 1");
  require(options.batch >= 0 && options.step >= 0 && options.cp >= 0, "plan: --batch, --step and --cp can't be negative");
  require(options.batch > 0 || options.step == 0, "plan: --step counts steps of --batch samples; give --batch too");
  require(options.tokens_per_rank > 0, "plan: give --tokens-per-rank, the most tokens that a rank may hold at a time");
  require(options.cp == 0 || options.planner.rfind("static", 0) == 0, "plan: --cp fixes the size of the static planners, not of '",
          options.planner, "'");
}

PlanProblem read_problem(const PlanToolOptions& options) {
  const std::vector<int64_t> all =
      options.lengths.empty() ? Dataset(options.data).lengths() : read_length_file(options.lengths);
  PlanProblem problem;
  if (options.batch > 0) {
    problem.samples = SampleOrder(int64_t(all.size()), uint64_t(options.seed)).samples(options.step * options.batch, options.batch);
  } else {
    problem.samples.resize(all.size());
    std::iota(problem.samples.begin(), problem.samples.end(), int64_t(0));
  }
  for (int64_t sample : problem.samples) problem.lengths.push_back(all[size_t(sample)]);
  problem.cost = find_cost(options.cost.empty() ? "data-sheet" : options.cost);
  problem.cluster = {options.ranks, options.tokens_per_rank, 0};
  return problem;
}

std::vector<PlanReport> make_reports(const PlanToolOptions& options, const PlanProblem& problem) {
  if (options.planner != "all") return report_planner(problem, {options.planner, options.cp});
  std::vector<PlanReport> reports;
  for (const std::string& planner : planner_names()) {
    if (planner != "elastic" && feasible_cp_sizes(problem.lengths, problem.cluster).empty()) continue;
    for (PlanReport& report : report_planner(problem, {planner, 0})) reports.push_back(std::move(report));
  }
  return reports;
}

void print_text(const PlanToolOptions& options, const PlanProblem& problem, const std::vector<PlanReport>& reports,
                const PlanReport& chosen) {
  int64_t tokens = 0;
  for (int64_t length : problem.lengths) tokens += length;
  std::printf("%zu samples, %lld tokens, longest %lld; dropped 0\n", problem.lengths.size(), static_cast<long long>(tokens),
              static_cast<long long>(*std::max_element(problem.lengths.begin(), problem.lengths.end())));
  std::printf("%lld ranks, at most %lld tokens each; cost set %s (%s)\n\n", static_cast<long long>(problem.cluster.num_slots),
              static_cast<long long>(problem.cluster.tokens_per_slot), problem.cost.name.c_str(),
              problem.cost.device.c_str());
  std::fputs(summary_table(reports).c_str(), stdout);
  if (feasible_cp_sizes(problem.lengths, problem.cluster).empty())
    std::printf("static planners: no CP size that divides the ranks fits the longest sample\n");
  if (options.planner == "all") return;
  std::printf("\n%s", rank_table(problem, chosen).c_str());
}

int run(const PlanToolOptions& options) {
  check(options);
  const PlanProblem problem = read_problem(options);
  const std::vector<PlanReport> reports = make_reports(options, problem);
  const PlanReport* chosen = &reports.back();
  for (const PlanReport& report : reports)
    if (options.planner != "all" && report.fastest) chosen = &report;
  if (!options.plan_out.empty()) write_file_atomically(options.plan_out, plan_to_json(chosen->plan) + "\n");
  if (!options.json) {
    print_text(options, problem, reports, *chosen);
  } else if (options.planner != "all") {
    std::printf("%s\n", report_json(problem, *chosen).c_str());
  } else {
    for (size_t i = 0; i < reports.size(); ++i)
      std::printf("%s%s", i == 0 ? "[" : ",\n ", report_json(problem, reports[i]).c_str());
    std::printf("]\n");
  }
  return 0;
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanToolOptions>();
  Command command;
  command.name = "plan";
  command.help = "show how a step's samples would be spread over ranks, and how near that is to the bound";
  command.options.add_flag("data", options->data, "data set folder");
  command.options.add_flag("lengths", options->lengths, "file with one length in tokens a line, or a CSV column 'tokens'");
  command.options.add_flag("ranks", options->ranks, "ranks to plan for");
  command.options.add_flag("batch", options->batch, "samples of the step, drawn in the seeded order; 0: all, in their order");
  command.options.add_flag("tokens-per-rank", options->tokens_per_rank, "most tokens that a rank may hold at a time");
  command.options.add_flag("planner", options->planner, "which planner; all: compare them",
                           {"static", "static-balanced", "elastic", "all"});
  command.options.add_flag("cp", options->cp, "CP size of the static planners; 0: every feasible one, the fastest is shown");
  command.options.add_flag("cost", options->cost, "cost file of 'zoetrope profile', or a built-in set; empty: data-sheet");
  command.options.add_flag("seed", options->seed, "of the order of samples");
  command.options.add_flag("step", options->step, "which step of the order, from 0");
  command.options.add_flag("json", options->json, "print JSON; times in nanoseconds of the cost set");
  command.options.add_flag("plan-out", options->plan_out, "write the plan to this file");
  command.run = [options] { return run(*options); };
  return command;
}

}  // namespace zoetrope
