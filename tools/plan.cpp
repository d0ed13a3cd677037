// zoetrope plan: lengths -> plan, printed. What a training step would do, before anything runs.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/files.h"
#include "tools/commands.h"
#include "tools/plan_problem.h"
#include "tools/ranges.h"

namespace zoetrope {
namespace {

void check(const PlanToolOptions& options, const Command& command) {
  const auto require = [](bool condition, const auto&... text) {
    if (!condition) throw UsageError(join_message(text...));
  };
  const bool from_file = !options.lengths.empty();
  require(!(from_file && command.was_given("data")) && (from_file || !options.config.data.data.empty()),
          "plan: give either --data DATASET or --lengths FILE");
  const int64_t least = command.was_given("ranks") ? 1 : 0;          // 0, the default, is one
  constexpr int64_t kMostRanks = 1 << 14, kMost = int64_t(1) << 38;  // products of two stay within 63 bits
  Ranges().between("ranks", options.config.parallel.ranks, least, kMostRanks);
  Ranges().between("step", options.step, 0, kMost);
  Ranges().between("tokens-per-rank", options.tokens_per_rank, 0, kMost);
  require(!from_file || command.was_given("batch") || options.step == 0,
          "plan: --step counts steps of --batch samples; give --batch too");
  require(!command.was_given("tokens-per-rank") || !command.was_given("memory-per-rank"),
          "plan: --tokens-per-rank and --memory-per-rank both set the cap; give one of them");
  check_cp(options.plan, std::max<int64_t>(1, options.config.parallel.ranks));
  TrainConfig config = options.config;
  config.plan = options.plan;
  config.validate();
}

std::vector<PlanReport> make_reports(const PlanToolOptions& options, const PlanProblem& problem) {
  if (options.plan.planner != "all") return report_planner(problem, {options.plan.planner, options.plan.cp});
  std::vector<PlanReport> reports;
  for (const std::string& planner : planner_names()) {
    if (fixes_cp_size(planner) && feasible_cp_sizes(problem.lengths, problem.cluster).empty()) continue;
    for (PlanReport& report : report_planner(problem, {planner, 0})) reports.push_back(std::move(report));
  }
  return reports;
}

void print_text(const PlanProblem& problem, const std::string& cap_source,
                const std::vector<PlanReport>& reports, const PlanReport* chosen) {
  int64_t tokens = 0;
  for (int64_t length : problem.lengths) tokens += length;
  std::printf("%zu samples, %lld tokens, longest %lld; dropped 0\n", problem.lengths.size(),
              static_cast<long long>(tokens),
              static_cast<long long>(*std::max_element(problem.lengths.begin(), problem.lengths.end())));
  std::printf("%lld ranks, at most %lld tokens each (%s)\ncost set %s (%s)\n\n",
              static_cast<long long>(problem.cluster.num_slots),
              static_cast<long long>(problem.cluster.tokens_per_slot), cap_source.c_str(),
              problem.cost.name.c_str(), problem.cost.device.c_str());
  std::fputs(summary_table(reports).c_str(), stdout);
  if (feasible_cp_sizes(problem.lengths, problem.cluster).empty())
    std::printf("static planners: no CP size that divides the ranks fits the longest sample\n");
  if (chosen) std::printf("\n%s", rank_table(problem, *chosen).c_str());
}

int run(const PlanToolOptions& options, const Command& command) {
  check(options, command);
  std::string cap_source;
  const bool whole_file = !options.lengths.empty() && !command.was_given("batch");
  const PlanProblem problem = read_problem(options, whole_file, cap_source);
  const std::vector<PlanReport> reports = make_reports(options, problem);
  const bool all = options.plan.planner == "all";
  const PlanReport* chosen = &reports.back();
  for (const PlanReport& report : reports)
    if (!all && report.fastest) chosen = &report;
  if (!options.plan_out.empty()) write_file_atomically(options.plan_out, plan_to_json(chosen->plan) + "\n");
  if (!options.json) {
    print_text(problem, cap_source, reports, all ? nullptr : chosen);
  } else if (!all) {
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
  command.footer =
      "With --lengths and no --batch the whole file is one step, in its order; else --batch samples of step "
      "--step\n"
      "of the seeded order. Without --tokens-per-rank the cap follows from the memory per rank and [model].";
  TrainConfig& config = options->config;
  command.options.add_table("data", config.data);
  command.options.add_table("model", config.model);
  command.options.add_table("plan", options->plan);
  command.options.add_table("parallel", config.parallel);
  command.options.add_table("optimisation", config.optimisation);
  command.options.add_table("numerics", config.numerics);
  command.ignored_tables = {"flow", "checkpoint"};
  command.options.add_flag("lengths", options->lengths,
                           "file with one length in tokens a line, or a CSV column 'tokens'");
  command.options.add_flag("tokens-per-rank", options->tokens_per_rank,
                           "most tokens that a rank may hold at a time");
  command.options.add_flag("step", options->step, "which step of the order, from 0");
  command.options.add_flag("json", options->json, "print JSON; times in nanoseconds of the cost set");
  command.options.add_flag("plan-out", options->plan_out, "write the plan to this file");
  Command asked = command;  // shares the list of given flags
  command.run = [options, asked] { return run(*options, asked); };
  return command;
}

}  // namespace zoetrope
