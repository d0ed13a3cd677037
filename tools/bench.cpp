#include "tools/bench.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>

#include "core/files.h"
#include "schedule/planner.h"
#include "tools/assemble.h"
#include "tools/bench_ops.h"
#include "tools/commands.h"
#include "tools/launch.h"
#include "tools/output_files.h"
#include "tools/ranges.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

/// [plan] as bench reads it: a list of planners, whereas a config file names the one that training uses.
struct BenchPlan {
  PlanOptions& plan;
  void visit(auto&& field) {
    field("planner", plan.planner, "planners to compare, with commas; only the flag counts, not the file");
    field("cp", plan.cp, "CP size of the static planners; 0: every feasible one");
    field("bags", plan.bags, kBagsHelp);
    field("batch", plan.batch, "samples per step, over all ranks");
    field("memory-per-rank", plan.memory_per_rank, "bytes a rank may use; 0: what the cost file says");
    field(
        "cost", plan.cost,
        "cost file of `zoetrope profile`, or a set by name; empty: cp measures at the start, plan uses four");
  }
};

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

void check(BenchOptions& options, bool planners_given) {
  options.planners = planner_names();
  if (planners_given) {
    options.planners = split_names(options.config.plan.planner);
    for (const std::string& name : options.planners)
      if (std::find(planner_names().begin(), planner_names().end(), name) == planner_names().end())
        throw UsageError(
            join_message("--planner: there is no planner '", name, "'; `zoetrope plan --help` lists them"));
  }
  const auto at_least = [](const char* name, int64_t value, int64_t least) {
    if (value < least) throw UsageError(join_message("--", name, " ", value, ", expected at least ", least));
  };
  at_least("steps", options.steps, 1);
  at_least("batches", options.batches, 1);
  options.batches = std::min(options.batches, options.steps);  // each is timed at least once
  at_least("link-hides", options.link_hides, 0);
  at_least("tokens", options.tokens, 0);
  options.config.validate();
}

int bench_ops(const BenchOptions& options, Comm& comm) {
  if (comm.size() > 1)
    throw UsageError("bench ops measures one rank; leave --ranks out, and start it without mpirun or srun");
  const ModelConfig& model = options.config.model;
  OpsBench ops;
  ops.threads = threads_per_rank(options.config.parallel, 1);
  if (options.tokens > 0) ops.tokens = options.tokens;
  ops.sample_tokens = std::min(ops.sample_tokens, ops.tokens);
  ops.width = model.width, ops.heads = model.num_heads, ops.ffn = model.ffn, ops.layers = model.num_layers;
  ops.text_rows = model.text_rows, ops.features = model.in_features();
  ops.device = options.config.numerics.device;
  ops.precision = options.config.numerics.precision;
  const std::unique_ptr<Comm> transport = start_device(options.config, comm);
  ops.json = options.json;
  report_json(options, run_bench_ops(ops));
  return 0;
}

int bench_plan(BenchOptions& options) {
  PlanBench& plan = options.plan;
  if (plan.samples > 0) {
    constexpr int64_t kMostRanks = 1 << 14, kMostSamples = 1 << 16, kMostTokens = int64_t(1) << 38;
    Ranges().between("ranks", options.config.parallel.ranks, 1, kMostRanks);
    Ranges().between("samples", plan.samples, 1, kMostSamples);
    Ranges().between("tokens-per-rank", plan.tokens_per_rank, 1, kMostTokens);
  }
  plan.ranks = options.config.parallel.ranks;
  plan.seed = options.config.numerics.seed;
  plan.cost = options.config.plan.cost;
  plan.planners = options.planners;
  plan.json = options.json;
  report_json(options, run_bench_plan(plan));
  return 0;
}

int bench_traces(BenchOptions& options, const std::function<bool(const char*)>& given) {
  TracesBench& traces = options.traces;
  traces.prints = !options.json;
  if (given("cost")) traces.hardware = {options.config.plan.cost};
  if (given("execution")) traces.executions = {options.plan.execution};
  if (given("trace")) traces.traces = split_names(options.plan.trace);
  Ranges().between("seeds", traces.num_seeds, 1, 1000);
  const std::vector<TracesRow> rows = run_bench_traces(traces);
  if (traces.prints) std::printf("\n%s", traces_markdown(traces, rows).c_str());
  report_json(options, traces_json(rows));
  return 0;
}

/// The table in Markdown follows the lines, unless JSON is asked for.
int bench_scale(BenchOptions& options, const std::function<bool(const char*)>& given) {
  ScaleBench& scale = options.scale;
  scale.seed = uint64_t(options.config.numerics.seed);
  scale.prints = !options.json;
  if (given("trace")) scale.traces = {options.plan.trace};
  if (given("cost")) scale.costs = {options.config.plan.cost};
  if (given("tokens-per-rank")) scale.tokens_per_rank = options.plan.tokens_per_rank;
  Ranges().between("tokens-per-rank", scale.tokens_per_rank, 1, int64_t(1) << 38);
  if (!options.gpus.empty()) scale.gpus.clear();
  for (const std::string& number :
       options.gpus.empty() ? std::vector<std::string>() : split_names(options.gpus)) {
    int64_t gpus = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), gpus);
    if (code != std::errc() || end != number.data() + number.size())
      throw UsageError("--gpus: found '" + number + "', expected whole numbers with commas between");
    scale.gpus.push_back(gpus);
  }
  for (int64_t gpus : scale.gpus) {
    Ranges().between("gpus", gpus, 1, 1 << 14);
    Ranges().between("samples-per-gpu", scale.samples_per_gpu, 1, (1 << 16) / gpus);
  }
  const std::vector<ScaleRow> rows = run_bench_scale(scale);
  if (scale.prints) std::printf("\n%s", scale_markdown(rows).c_str());
  if (!options.html.empty()) write_file_atomically(options.html, scale_html(scale, rows));
  report_json(options, scale_json(scale, rows));
  const auto is_planned = [](const ScaleRow& row) { return row.planner("elastic").failure.empty(); };
  ZT_REQUIRE(std::any_of(rows.begin(), rows.end(), is_planned),
             "bench scale: nothing could be planned on any pool: ", rows.front().planner("elastic").failure,
             "; use more --gpus or --tokens-per-rank");
  return 0;
}

int bench_ingest(BenchOptions& options) {
  options.ingest.prints = !options.json;
  Ranges().between("loops", options.ingest.loops, 1, 1000);
  Ranges().between("runs", options.ingest.runs, 1, 100);
  Ranges().between("clips", options.ingest.clips, 0, 1000000);
  report_json(options, run_bench_ingest(options.ingest));
  return 0;
}

void add_ingest_flags(OptionSet& options, IngestBench& ingest) {
  options.add_flag("video", ingest.video, "ingest: a camera clip, whose coded frames are looped");
  options.add_flag("loops", ingest.loops,
                   "ingest: how often; a clip of more than 1 GiB of pixels is refused");
  options.add_flag("runs", ingest.runs, "ingest: decode and ingest in turns, so many times");
  options.add_flag("clips", ingest.clips, "ingest: instead, peak memory over so many small clips");
  options.add_flag("scratch", ingest.scratch, "ingest: folder for what is made on the way");
}

void add_scale_flags(OptionSet& options, BenchOptions& bench) {
  options.add_flag("gpus", bench.gpus, "scale: pools to plan for, with commas; empty: 8 to 16,384");
  options.add_flag("samples-per-gpu", bench.scale.samples_per_gpu, "scale: samples of a step, over GPUs");
  options.add_flag("html", bench.html, "scale: write a page with plots to this file");
}

void add_plan_flags(OptionSet& options, PlanBench& plan, TracesBench& traces) {
  options.add_flag("seeds", traces.num_seeds, "traces: how many seeds, from 0");
  options.add_flag("lists", plan.lists, "plan: folder of the five lists of lengths");
  options.add_flag("samples", plan.samples, "plan: so many samples of a trace instead of the lists");
  options.add_flag("trace", plan.trace,
                   "plan, scale: which trace; `zoetrope plan --trace list` lists them; traces: T1 ... T9, "
                   "T3c, with commas");
  options.add_flag("tokens-per-rank", plan.tokens_per_rank, "plan: most tokens of a rank, with --samples");
  options.add_flag("execution", plan.execution, "plan, traces: free or waves; empty: both");
}

int run(const BenchOptions& options, Comm& comm) {
  if (options.what == "cp") return bench_cp(options, comm);
  if (options.what == "ring") return bench_ring(options, comm);
  if (options.what == "ops") return bench_ops(options, comm);
  return bench_step(options, comm);
}

/// Flags that some benchmarks alone read: others would leave them unsaid, and a file unwritten.
void check_flags(const std::string& what, const std::function<bool(const char*)>& given) {
  struct Owners {
    const char *flag, *readers;
  };
  constexpr Owners kOwners[] = {{"timeline", "cp"},
                                {"device", "cp, ring, ops, step"},
                                {"link-hides", "cp"},
                                {"html", "scale"},
                                {"gpus", "scale"},
                                {"samples-per-gpu", "scale"},
                                {"seeds", "traces"},
                                {"video", "ingest"},
                                {"loops", "ingest"},
                                {"runs", "ingest"},
                                {"clips", "ingest"},
                                {"scratch", "ingest"},
                                {"lists", "plan"},
                                {"samples", "plan"},
                                {"execution", "plan, traces"},
                                {"trace", "plan, traces, scale"},
                                {"tokens-per-rank", "plan, scale"}};
  for (const Owners& owners : kOwners) {
    const std::vector<std::string> readers = split_names(owners.readers);
    const bool reads = std::any_of(readers.begin(), readers.end(), [&](const std::string& reader) {
      return reader.substr(reader.find_first_not_of(' ')) == what;
    });
    if (!reads && given(owners.flag))
      throw UsageError(join_message("bench ", what, " does not read --", owners.flag, ", which is of bench ",
                                    owners.readers, "; leave it out"));
  }
  if (what != "traces" && what != "scale") return;
  for (const char* flag : {"planner", "ranks"})
    if (given(flag))
      throw UsageError(join_message("bench ", what, " does not read --", flag,
                                    what == "scale" ? ": it compares four planners on --gpus GPUs"
                                                    : ": it compares all planners on 64 ranks",
                                    "; leave it out"));
}

/// Checks, and runs what was asked for, on ranks where it needs them; `given`: flags on the command line.
int start(BenchOptions& options, const std::function<bool(const char*)>& given) {
  check_flags(options.what, given);
  check(options, given("planner"));
  check_outputs({{"out", options.out}, {"timeline", options.timeline}, {"html", options.html}},
                {{"data", options.config.data.data}, {"cost", options.config.plan.cost}});
  if (options.what == "ingest") return bench_ingest(options);
  if (options.what == "plan") return bench_plan(options);
  if (options.what == "traces") return bench_traces(options, given);
  if (options.what == "scale") return bench_scale(options, given);
  // A config's ranks are the training's; operators and whole steps are measured on one, with all threads.
  if (given("precision"))
    options.precisions = {options.config.numerics.precision};  // only the flag counts, not the file
  if ((options.what == "ops" || options.what == "step") && !given("ranks")) options.config.parallel.ranks = 0;
  return run_on_ranks(options.config.parallel.ranks, [&options](Comm& comm) { return run(options, comm); });
}

/// What it says about itself.
void describe(Command& command) {
  command.help =
      "measure: cp (planners against each other), ring, ops, step (share of the product peak), plan "
      "(planners on paper), traces (the same on clusters with nodes), scale (8 to 16,384 GPUs on paper), "
      "ingest (share of the bare decode)";
  command.footer =
      "cp: with a core per rank, wall time: one thread per rank, pinned; with more ranks than cores the "
      "plans run for\n"
      "real, and step time is a replay of each rank's pieces on a processor each, in rows of kind "
      "'replayed'.\n"
      "plan: efficiency of plans under cost sets on paper, no ranks started: five lists, or --samples of "
      "--trace on --ranks.\n"
      "traces: makespan / bound of every planner on traces T1 to T9, 64 ranks, h100 and pcie, --seeds "
      "seeds.\n"
      "scale: speed-up of elastic over other planners on pools of --gpus, Wan 1.3B and 14B on H100s, traces "
      "t2 and t9; "
      "--cost\nand --trace choose others.\n"
      "ingest: CPU time of ffmpeg's decode of --video over that of the whole ingest to 480p, and where the "
      "rest "
      "goes;\nmany clips over 1, 2, ... workers; with --clips N peak memory.";
}

}  // namespace

void report_json(const BenchOptions& options, const std::string& json) {
  if (options.json) std::printf("%s\n", json.c_str());
  if (!options.out.empty()) write_file_atomically(options.out, json + "\n");
}

Command bench_command() {
  auto options = std::make_shared<BenchOptions>();
  auto plan = std::make_shared<BenchPlan>(BenchPlan{options->config.plan});
  Command command;
  command.name = "bench";
  describe(command);
  command.options.add({"",
                       "what",
                       &options->what,
                       "what to measure",
                       true,
                       true,
                       {"cp", "ring", "ops", "step", "plan", "traces", "scale", "ingest"}});
  TrainConfig& config = options->config;
  command.options.add_table("data", config.data);
  command.options.add_table("model", config.model);
  command.options.add_table("flow", config.flow);
  command.options.add_table("plan", *plan);
  command.options.add_table("parallel", config.parallel);
  command.options.add_table("optimisation", config.optimisation);
  command.options.add_table("checkpoint", config.checkpoint);
  command.options.add_table("numerics", config.numerics);
  command.options.add_flag("steps", options->steps, "steps to time, per planner or precision");
  command.options.add_flag("batches", options->batches,
                           "cp: different global batches among them, at most one per step");
  command.options.add_flag("tokens", options->tokens,
                           "step: tokens of the step; ring, ops: rows. 0: a default");
  command.options.add_flag(
      "link-hides", options->link_hides,
      "cp: emulate a link that just hides blocks of this many tokens: 1700 is NVLink-, 11000\n"
      "InfiniBand-, 25000 PCIe-like; 0: the link as it is");
  command.options.add_flag("json", options->json, "print JSON instead of the table");
  command.options.add_flag("out", options->out, "write the JSON to this file too");
  command.options.add_flag("timeline", options->timeline, "cp: write a picture of every rank's time (HTML)");
  add_plan_flags(command.options, options->plan, options->traces);
  add_scale_flags(command.options, *options);
  add_ingest_flags(command.options, options->ingest);
  const auto given = command.given;
  command.run = [options, plan, given] {
    return start(*options, [given](const char* name) {
      return std::find(given->begin(), given->end(), name) != given->end();
    });
  };
  return command;
}

}  // namespace zoetrope
