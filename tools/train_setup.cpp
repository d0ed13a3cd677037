#include "tools/train_setup.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "core/files.h"
#include "core/log.h"
#include "model/checkpoint.h"
#include "parallel/gather.h"
#include "schedule/kernel_choices.h"
#include "tools/metrics.h"
#include "tools/version.h"

namespace zoetrope {
namespace {

constexpr const char* kBuiltInCost = "data-sheet";

/// Names of what computes: results are bit-equal only for the same ones.
std::string kernel_choices(const TrainConfig& config) {
  const OpsSettings settings = settings_of(config.numerics);
  return join_message(config.numerics.device, "/", config.numerics.precision,
                      settings.attention == AttentionSource::kOwn ? "" : "/attention-cudnn",
                      settings.allow_nondeterministic ? "/nondeterministic" : "");
}

/// Attention kernel `auto` on a GPU becomes what the checkpoint has, or what the cost set's file says: from
/// here on it is an input like others.
void settle_attention(TrainSetup& setup, const std::string& cost_source) {
  NumericsOptions& numerics = setup.config.numerics;
  if (numerics.device != "cuda" || numerics.attention_kernel != "auto") return;
  if (!setup.resumed()) {
    numerics.attention_kernel = find_kernel_choices(cost_source).attention;
    attention_source_from(numerics.attention_kernel);
    return;
  }
  TrainConfig saved;
  OptionSet set;
  saved.add_to(set);
  load_toml_text(set, setup.state.config_toml, "config of the checkpoint");
  numerics.attention_kernel = saved.numerics.attention_kernel;
}

void announce_kernels(const TrainConfig& config) {
  const OpsSettings settings = settings_of(config.numerics);
  if (config.numerics.device != "cuda") return;
  log_info(join_message("attention kernel: ", name_of(settings.attention)));
  if (settings.allow_nondeterministic)
    log_warning("--allow-nondeterministic: results may differ from run to run; the checkpoints say so");
}

/// Throws: Error naming ranks that compute otherwise than rank 0.
void check_same_kernels(Comm& comm, const std::string& kernels) {
  const std::vector<uint64_t> hashes = gather_values(comm, fnv1a(kernels));
  for (size_t rank = 0; rank < hashes.size(); ++rank)
    ZT_REQUIRE(hashes[rank] == hashes[0], "rank ", rank, " computes with other kernels than rank 0 ('",
               kernels, "' on rank ", comm.rank(), "): give all ranks the same flags and files");
}

std::string resolved_toml(const TrainConfig& config) {
  TrainConfig copy = config;
  OptionSet set;
  copy.add_to(set);
  return dump_toml(set);
}

/// Run and data set must not mix: an ingest run again, or a checkpoint pruned, would take the other's files.
void check_apart(const std::string& run, const std::string& data) {
  if (!std::filesystem::exists(data)) return;  // opening it says so
  if (lies_in(run, data))
    throw UsageError(
        join_message("--run '", run, "' lies in the data set '", data,
                     "', expected a folder of its own: give --run a folder beside the data set"));
  if (lies_in(data, run + "/checkpoints"))
    throw UsageError(join_message("the data set '", data, "' lies in '", run,
                                  "/checkpoints', where training removes old folders: move the data set, or "
                                  "give another --run"));
}

}  // namespace

void TrainSetup::check_flags() const {
  if (config.data.data.empty())
    throw UsageError("no data set: give --data DATASET, a folder that `zoetrope ingest` wrote");
  if (run.empty())
    throw UsageError("no run folder: give --run RUN, where config, metrics and checkpoints go");
  check_apart(run, config.data.data);
  if (steps < 0) throw UsageError(join_message("--steps ", steps, ", expected a positive number of steps"));
  const std::set<std::string> known{"cost", "memory", "config", "data"};
  for (const std::string& change : changes)
    if (!known.count(change))
      throw UsageError(join_message("--change ", change, ": expected some of cost, memory, config, data"));
  config.validate();
}

CostModel settle_cost(const PlanOptions& options, const std::string& run, std::string* source) {
  std::string name = options.cost;
  if (name.empty() && !run.empty() && std::filesystem::exists(run + "/cost.toml")) name = run + "/cost.toml";
  if (name.empty()) {
    *source = join_message("built-in data-sheet set '", kBuiltInCost,
                           "' (measure this machine with `zoetrope profile`)");
    return rings_only(find_cost(kBuiltInCost));
  }
  if (find_paper_cost(name))
    throw UsageError(join_message("--cost ", name,
                                  " is for figures on paper, not for training; leave it out, "
                                  "or give a file of 'zoetrope profile --out FILE'"));
  *source = name;
  return rings_only(find_cost(name));
}

void open_run(TrainSetup& setup, const Dataset& dataset, Comm& comm) {
  require_same_patch(setup.config.model, dataset, setup.config.data.data);
  setup.checkpoint = find_resume(setup.run, setup.resume);
  std::string source;
  const CostModel cost = settle_cost(setup.config.plan, setup.run, &source);
  RunState& state = setup.state;
  if (setup.resumed())
    state = run_state_from_json(read_checkpoint_state(setup.checkpoint).state_json, setup.checkpoint);
  settle_attention(setup, source);
  if (setup.resumed()) {
    if (setup.last_step() < state.step)
      throw UsageError(join_message(setup.steps > 0 ? "--steps " : "the schedule ends at step ",
                                    setup.last_step(), ", but ", setup.checkpoint, " is at step ", state.step,
                                    " already; give --steps above ", state.step));
    const std::vector<std::string> changed =
        check_resume(state, setup.config, dataset.fingerprint(), cost, setup.command, setup.changes);
    const auto may = [&](const char* what) {
      return std::find(setup.changes.begin(), setup.changes.end(), what) != setup.changes.end();
    };
    if (may("cost")) state.cost = cost;
    if (may("memory")) {
      state.memory_per_rank = memory_limit(setup.config, state.cost, comm);
      state.cluster.tokens_per_slot = 0;  // derived anew below
    }
    state.changes.insert(state.changes.end(), changed.begin(), changed.end());
    if (comm.rank() == 0)
      for (const std::string& change : changed) log_warning("changed on resume: " + change);
  } else {
    state.cost = cost;
    state.memory_per_rank = memory_limit(setup.config, cost, comm);
    if (comm.rank() == 0 && !setup.resume.empty())
      log_info("no checkpoint in '" + setup.run + "' yet: starting at step 1");
    if (comm.rank() == 0) log_info("cost set: " + source);
  }
  const int threads = threads_per_rank(setup.config.parallel, comm.size());
  if (setup.resumed() && comm.rank() == 0 &&
      (state.ranks != comm.size() || state.threads_per_rank != threads))
    log_warning(join_message("the checkpoint was made on ", state.ranks, " ranks of ", state.threads_per_rank,
                             " threads, now it is ", comm.size(), " of ", threads,
                             ": equal within rounding, not bit for bit"));
  state.ranks = comm.size();
  state.threads_per_rank = threads;
  state.version = kVersion;
  state.kernels = kernel_choices(setup.config);
  state.config_toml = resolved_toml(setup.config);
  state.data_fingerprint = dataset.fingerprint();
  check_same_kernels(comm, state.kernels);
  if (comm.rank() == 0) announce_kernels(setup.config);
  if (comm.rank() == 0) write_run_files(setup.run, state.config_toml, state.data_fingerprint);
}

void start_parameters(const TrainSetup& setup, Rank& rank) {
  if (!setup.resumed()) {
    rank.parameters.initialise(uint64_t(setup.config.numerics.seed));
    if (rank.optimizer.ema().defined()) copy(rank.optimizer.ema(), rank.parameters.values());
  } else {
    load_checkpoint(setup.checkpoint, rank.parameters, rank.optimizer.first(), rank.optimizer.second(),
                    rank.optimizer.ema());
  }
  rank.parameters.prepare();
}

void announce(const TrainSetup& setup, const Dataset& dataset, const Rank& rank) {
  if (rank.comm.rank() != 0) return;
  const RunState& state = setup.state;
  std::printf(
      "zoetrope %s  data %s (%zu clips)  model %.2f M parameters  %d rank(s) x %d thread(s), %s, %s\n",
      kVersion, setup.config.data.data.c_str(), dataset.samples().size(),
      double(rank.parameters.count()) * 1e-6, rank.comm.size(), rank.pool.num_threads(), rank.comm.name(),
      setup.config.numerics.precision.c_str());
  std::printf(
      "planner %s  cost set %s (%s)  memory %s of %s per rank: at most %lld tokens and %lld samples per "
      "micro-batch\n",
      setup.config.plan.planner.c_str(), state.cost.name.c_str(), hex64(hash_of(state.cost)).c_str(),
      bytes_text(zoetrope::peak_bytes(rank.memory, rank.cluster)).c_str(),
      bytes_text(state.memory_per_rank).c_str(), static_cast<long long>(rank.cluster.tokens_per_slot),
      static_cast<long long>(rank.cluster.segments_per_slot));
  if (setup.resumed())
    std::printf("resumed from %s at step %lld\n", setup.checkpoint.c_str(),
                static_cast<long long>(state.step));
  if (rank.optimizer.ema().defined())
    std::printf("EMA on: samples and held-out loss use the averaged weights\n");
  std::fflush(stdout);
}

void announce_restart(const std::string& run) {
  const std::vector<std::string> checkpoints =
      std::filesystem::exists(run) ? list_checkpoints(run) : std::vector<std::string>{};
  log_info(checkpoints.empty() ? "the run has no checkpoint yet: start it again"
                               : "the run goes on from " + checkpoints.back() + " with --resume auto");
}

}  // namespace zoetrope
