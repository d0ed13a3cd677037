// zoetrope plan: lengths -> plan, printed. What a training step would do, before anything runs.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "core/files.h"
#include "schedule/chrome_trace.h"
#include "tools/commands.h"
#include "tools/output_files.h"
#include "tools/plan_html.h"
#include "tools/plan_problem.h"
#include "tools/ranges.h"
#include "tools/verdict_figures.h"
#include "tools/waiting_notes.h"

namespace zoetrope {
namespace {

void check_sources(const PlanToolOptions& options, const Command& command) {
  const bool from_file = !options.lengths.empty(), from_trace = !options.trace.empty();
  require_usage(int(from_file) + int(from_trace) + int(command.was_given("data")) <= 1 &&
                    (from_file || from_trace || !options.config.data.data.empty()),
                "plan: give one of --data DATASET, --lengths FILE and --trace NAME");
  require_usage(!from_file || command.was_given("batch") || (options.step == 0 && options.steps == 1),
                "plan: --step and --steps count steps of --batch samples; give --batch too");
  require_usage(from_trace == (options.samples > 0),
                "plan: --trace NAME and --samples N, the samples of a step, go ", "together");
  require_usage(!from_trace || !command.was_given("batch"),
                "plan: the step of a trace has --samples samples; ", "leave --batch out");
}

void check(const PlanToolOptions& options, const Command& command) {
  const int64_t least = command.was_given("ranks") ? 1 : 0;  // 0, the default, is one
  constexpr int64_t kMostRanks = 1 << 14, kMostSamples = 1 << 16, kMostSteps = 10000, kMostInAll = 1 << 24,
                    kMostStages = 256,
                    kMost = int64_t(1) << 38;  // products of two stay within 63 bits
  Ranges().between("ranks", options.config.parallel.ranks, least, kMostRanks);
  Ranges().between("step", options.step, 0, kMost);
  Ranges().between("steps", options.steps, 1, kMostSteps);
  Ranges().between("tokens-per-rank", options.tokens_per_rank, 0, kMost);
  Ranges().between("samples", options.samples, command.was_given("samples") ? 1 : 0, kMostSamples);
  check_sources(options, command);
  Ranges().between("stages", options.stages, 1, kMostStages);
  options.planned.check(command.was_given("execution") && options.execution == "free", options.stages);
  if (options.planned.is_given()) {
    const int64_t layers = options.planned.network(options.config.model).num_layers;
    require_usage(options.stages <= layers, "plan: --stages ", options.stages, ", and --model ",
                  options.planned.model, " has ", layers, " layers; a stage holds at least one");
  }
  require_usage(options.stages == 1 || options.execution == "free",
                "plan: pipelines of --stages run neither free nor in waves; leave --execution out");
  require_usage(options.stages > 1 || options.plan.planner != "pipeline",
                "plan: --planner pipeline plans for --stages; give them, 2 or more");
  require_usage(options.steps * options.samples <= kMostInAll, "plan: --steps x --samples is ",
                options.steps * options.samples, ", expected at most ", kMostInAll);
  require_usage(options.steps == 1 || options.plan_out.empty(),
                "plan: --plan-out writes the plan of one step; leave ",
                "--steps out and choose it with --step");
  require_usage(options.timeline.empty() || (options.steps == 1 && options.plan.planner != "all"),
                "plan: --timeline shows one step of one planner; leave --steps out and name a --planner");
  require_usage(!command.was_given("tokens-per-rank") || !command.was_given("memory-per-rank"),
                "plan: --tokens-per-rank and --memory-per-rank both set the cap; give one of them");
  check_cp(options.plan, std::max<int64_t>(1, options.config.parallel.ranks));
  check_bags(options.plan, std::max<int64_t>(1, options.config.parallel.ranks));
  TrainConfig config = options.config;
  config.plan = options.plan;
  config.validate();
}

/// Reports of one planner or of all; `failures`: why planners of all have none.
std::vector<PlanReport> make_reports(const PlanToolOptions& options, const PlanProblem& problem,
                                     const Doing& doing, std::string& failures) {
  const auto report = [&](const PlanRequest& request) {
    doing(join_message("step ", problem.step - options.step + 1, " of ", options.steps, ", planner ",
                       request.planner, ": ", problem.lengths.size(), " samples on ",
                       problem.cluster.num_slots, " ranks"));
    return report_planner(problem, request);
  };
  if (options.plan.planner != "all")
    return report({options.plan.planner, options.plan.cp, options.plan.bags});
  check_batch(problem.lengths, problem.cluster);
  std::vector<PlanReport> reports;
  for (const std::string& planner : planner_names()) {
    try {
      const std::string bags = planner == "bags" ? options.plan.bags : "";
      for (PlanReport& each : report({planner, 0, bags})) reports.push_back(std::move(each));
    } catch (const Error& reason) {
      if (planner == planner_names().back()) throw;  // the default plans whatever fits
      failures += planner + ": " + reason.what() + "\n";
    }
  }
  if (problem.stages > 1) reports.push_back(report_plan(problem, {"pipeline", 0}));
  return reports;
}

/// What holds for all plans of a step.
void print_problem(const PlanProblem& problem, const PlanSteps& steps) {
  int64_t tokens = 0;
  for (int64_t length : problem.lengths) tokens += length;
  std::printf("%zu samples, %lld tokens, longest %lld; dropped 0; from %s\n", problem.lengths.size(),
              static_cast<long long>(tokens),
              static_cast<long long>(*std::max_element(problem.lengths.begin(), problem.lengths.end())),
              steps.source().c_str());
  if (problem.stages > 1)
    std::printf("each rank below is a pipeline of %lld stages\n", static_cast<long long>(problem.stages));
  std::printf("%lld ranks, %s, at most %lld tokens each (%s)\ncost set %s (%s)\n",
              static_cast<long long>(problem.cluster.num_slots),
              problem.stages > 1                               ? "one forward, one backward"
              : problem.cluster.execution == Execution::kWaves ? "waves in lock-step"
                                                               : "free-running",
              static_cast<long long>(problem.cluster.tokens_per_slot), steps.cap_source().c_str(),
              problem.cost.name.c_str(), problem.cost.device.c_str());
  if (problem.cost.optimizer_ns > 0)
    std::printf("%.3f ms of every simulated step are gradient norm and optimizer, whatever the plan\n",
                problem.cost.optimizer_ns / 1e6);
  std::printf("\n");
}

/// Of a comparison of all planners.
std::optional<Verdict> verdict_on(const PlanToolOptions& options, const PlanProblem& first,
                                  const std::vector<std::vector<PlanReport>>& steps, const Doing& doing) {
  if (options.plan.planner != "all") return {};
  return verdict_of(verdict_figures(first, steps, doing));
}

/// All reports as items of a list, the verdict in the last.
void print_json(const PlanProblem& problem, const std::vector<PlanReport>& reports,
                const std::optional<Verdict>& verdict, const char* before_first) {
  for (size_t i = 0; i < reports.size(); ++i) {
    const bool judged = verdict && i + 1 == reports.size();
    std::printf("%s%s", i == 0 ? before_first : ",\n ",
                report_json(problem, reports[i], judged ? &*verdict : nullptr).c_str());
  }
}

void write_page(const PlanToolOptions& options, const PlanSteps& steps,
                std::vector<std::vector<PlanReport>> reports, const std::string& failures,
                const std::optional<Verdict>& verdict) {
  if (options.html.empty()) return;
  write_file_atomically(options.html, plan_html({steps.problem(0), steps.source(), steps.cap_source(),
                                                 options.step, std::move(reports), failures, verdict}));
}

void write_timeline(const PlanToolOptions& options, const PlanProblem& problem, const Plan& plan) {
  if (options.timeline.empty()) return;
  write_file_atomically(options.timeline,
                        chrome_trace(simulate(problem, plan), plan,
                                     {std::max<int64_t>(1, problem.cost.ranks_per_node), problem.samples}));
}

std::string answer(const std::optional<Verdict>& verdict) {
  return verdict ? "\n" + verdict_text(*verdict) : "";
}

int run_one(const PlanToolOptions& options, const PlanSteps& steps, const Doing& doing) {
  const PlanProblem problem = steps.problem(0);
  std::string failures;
  const std::vector<std::vector<PlanReport>> step{make_reports(options, problem, doing, failures)};
  const std::vector<PlanReport>& reports = step.front();
  const std::optional<Verdict> verdict = verdict_on(options, problem, step, doing);
  const bool all = options.plan.planner == "all";
  const PlanReport& chosen = all ? reports.back() : fastest_of(reports);
  if (!options.plan_out.empty()) write_file_atomically(options.plan_out, plan_to_json(chosen.plan) + "\n");
  write_timeline(options, problem, chosen.plan);
  write_page(options, steps, step, failures, verdict);
  if (options.json) {
    if (all) print_json(problem, reports, verdict, "[");
    std::printf("%s\n", all ? "]" : report_json(problem, chosen).c_str());
    return 0;
  }
  print_problem(problem, steps);
  std::fputs((summary_table(reports) + failures + answer(verdict)).c_str(), stdout);
  if (!all) std::printf("\n%s", rank_table(problem, chosen).c_str());
  std::fputs(
      (memory_text(problem.memory, problem.cluster, chosen.peak_bytes) + epoch_text(problem, {&chosen}))
          .c_str(),
      stdout);
  return 0;
}

/// Ranks and the epoch by the last planner: the one that was asked for, or the default.
std::string over_steps(const PlanProblem& problem, const std::vector<std::vector<PlanReport>>& steps) {
  std::vector<const PlanReport*> reports;
  for (const std::vector<PlanReport>& step : steps) reports.push_back(&step.back());
  return ranks_table(problem, reports) + epoch_text(problem, reports);
}

int run_steps(const PlanToolOptions& options, const PlanSteps& steps, const Doing& doing) {
  std::vector<std::vector<PlanReport>> chosen(static_cast<size_t>(options.steps));
  std::string failures;
  std::optional<Verdict> verdict;
  for (int64_t i = 0; i < options.steps; ++i) {
    const PlanProblem problem = steps.problem(i);
    if (i == 0 && !options.json) print_problem(problem, steps);
    std::vector<PlanReport> reports = make_reports(options, problem, doing, failures);
    for (size_t r = 0; r < reports.size(); ++r) {
      const bool is_choice = reports[r].fastest || !fixes_cp_size(reports[r].planner) || options.plan.cp > 0;
      if (is_choice) chosen[size_t(i)].push_back(std::move(reports[r]));
    }
    if (i + 1 == options.steps) verdict = verdict_on(options, steps.problem(0), chosen, doing);
    if (options.json) print_json(problem, chosen[size_t(i)], verdict, i == 0 ? "[" : ",\n ");
  }
  write_page(options, steps, chosen, failures, verdict);
  if (options.json) std::printf("]\n");
  else
    std::fputs((steps_table(chosen, options.step) + failures + answer(verdict) +
                over_steps(steps.problem(0), chosen))
                   .c_str(),
               stdout);
  return 0;
}

int run(PlanToolOptions options, const Command& command) {
  if (options.stages > 1 && !command.was_given("planner")) options.plan.planner = "pipeline";
  options.precision_was_given = command.was_given("precision");
  check(options, command);
  check_outputs({{"plan-out", options.plan_out}, {"timeline", options.timeline}, {"html", options.html}},
                {{"lengths", options.lengths},
                 {"data", options.lengths.empty() && options.trace.empty() ? options.config.data.data : ""},
                 {"cost", options.plan.cost}});
  const PlanSteps steps(options, !options.lengths.empty() && !command.was_given("batch"));
  const int64_t layers = steps.problem(0).cost.num_layers;
  require_usage(layers == 0 || options.stages <= layers, "plan: --stages ", options.stages,
                ", and the model of cost set ", steps.problem(0).cost.name, " has ", layers,
                " layers; a stage holds at least one");
  const bool all = options.plan.planner == "all";
  steps.check_all(all ? PlanRequest{}
                      : PlanRequest{options.plan.planner, options.plan.cp, options.plan.bags});
  WaitingNotes notes("plan");
  const Doing doing = [&notes](const std::string& what) { notes.doing(what); };
  return options.steps == 1 ? run_one(options, steps, doing) : run_steps(options, steps, doing);
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
      "of the seeded order; step S of a trace has its samples S x N to S x N + N - 1. Without "
      "--tokens-per-rank "
      "the cap\nfollows from the memory per rank and [model]. `plan_ms` is one run, the second where "
      "planning is "
      "quick: a process's\nfirst pays for page faults. `simulated` runs the plan layer by layer; `exposed` "
      "(transfers) "
      "and `idle` are means over\nranks, in the table as parts of that step. --planner all compares all "
      "planners. A sample that fits "
      "nowhere: "
      "exit code 3.";
  TrainConfig& config = options->config;
  command.options.add_table("data", config.data);
  command.options.add_table("model", config.model);
  command.options.add_table("plan", options->plan);
  command.options.add_table("parallel", config.parallel);
  command.options.add_table("optimisation", config.optimisation);
  command.options.add_table("numerics", config.numerics);
  command.ignored_tables = {"flow", "checkpoint"};
  options->planned.add_to(command.options);
  command.options.add_flag(
      "lengths", options->lengths,
      "file with one length in tokens a line, a CSV column 'tokens', or JSON lines with a key "
      "'tokens'");
  command.options.add_flag(
      "trace", options->trace,
      "lengths of a built-in trace: t1 ... t10, video-mix or lognormal:MEAN:SIGMA:LO:HI; "
      "`--trace list`\nsays what they are; --seed counts");
  command.options.add_flag("samples", options->samples, "samples of a step of the trace");
  command.options.add_flag("tokens-per-rank", options->tokens_per_rank,
                           "most tokens that a rank may hold at a time");
  command.options.add_flag("execution", options->execution,
                           "free: a rank starts a wave when it and its ring mates are free; waves: all ranks "
                           "start a wave\ntogether",
                           {"free", "waves"});
  command.options.add_flag("stages", options->stages,
                           "stages of a pipeline: --ranks are pipelines then, waves their micro-batches, run "
                           "1F1B, forward\nand backward as the cost set has them, or 1 to 2; planner "
                           "pipeline unless --planner is given");
  command.options.add_flag("step", options->step, "which step of the order, from 0");
  command.options.add_flag("steps", options->steps, "plan so many consecutive steps, with their sums");
  command.options.add_flag("json", options->json, "print JSON; times in the cost set's nanoseconds");
  command.options.add_flag("plan-out", options->plan_out, "write the plan to this file");
  command.options.add_flag("timeline", options->timeline,
                           "write what every rank does when, simulated, as Chrome trace JSON to this file; "
                           "ui.perfetto.dev opens it");
  command.options.add_flag("html", options->html, "write a page that shows all this to this file");
  Command asked = command;  // shares the list of given flags
  command.run = [options, asked] { return run(*options, asked); };
  return command;
}

}  // namespace zoetrope
