// zoetrope train: the whole way of the data on one page.
//   clip -> tokens -> shard (ingest) | plan -> micro-batch -> rank -> loss -> gradients -> optimizer ->
//   checkpoint
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/log.h"
#include "model/checkpoint.h"
#include "model/flops.h"
#include "parallel/step.h"
#include "schedule/loader.h"
#include "tools/assemble.h"
#include "tools/commands.h"
#include "tools/launch.h"
#include "tools/metrics.h"
#include "tools/rank_device.h"
#include "tools/run_folder.h"
#include "tools/run_lock.h"
#include "tools/train_setup.h"

namespace zoetrope {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// FLOPs of a step: forward and twice that backward, recompute not counted.
double step_flops(const PlannedStep& step, const ModelConfig& model) {
  double flops = 0;
  for (int64_t tokens : step.lengths) flops += 3 * forward_flops(model, tokens);
  return flops;
}

StepMetrics measure(int64_t step, const StepResult& result, const PlannedStep& planned,
                    const TrainSetup& setup, const Rank& rank, double seconds, int64_t predicted_peak) {
  StepMetrics m;
  m.step = step + 1;
  m.loss = result.loss;
  m.grad_norm = result.grad_norm;
  m.learning_rate = learning_rate_at(setup.config.optimisation, step);
  m.step_ms = 1e3 * seconds;
  m.tokens = planned.total_tokens;
  m.tokens_per_s = double(planned.total_tokens) / seconds;
  if (setup.state.cost.gemm_flops > 0)
    m.gemm_share =
        step_flops(planned, setup.config.model) / seconds / (setup.state.cost.gemm_flops * rank.comm.size());
  m.makespan_over_bound = double(planned.makespan_ns) / double(planned.bound_ns);
  m.rank_max_over_mean = result.rank_max_over_mean;
  m.exposed_wait_ms = 1e3 * result.wait_seconds;
  m.plan_ms = planned.plan_milliseconds;
  m.cp_sizes = planned.cp_sizes;
  m.peak_bytes = int64_t(rank.comm.all_reduce_max(double(rank.peak_bytes())));
  m.predicted_peak_bytes = int64_t(rank.comm.all_reduce_max(double(predicted_peak)));
  m.rss_bytes = int64_t(rank.comm.all_reduce_max(double(resident_bytes())));
  return m;
}

void save(const TrainSetup& setup, RunState& state, const Rank& rank, int64_t step, int64_t draws) {
  state.step = step;
  state.draws = draws;
  if (rank.comm.rank() == 0) {
    save_checkpoint(setup.run, {step, to_json(state)}, rank.parameters, rank.optimizer.first(),
                    rank.optimizer.second(), rank.optimizer.ema());
    prune_checkpoints(setup.run, setup.config.checkpoint.keep);
  }
  rank.comm.barrier();  // nobody goes on, or ends, before the checkpoint is whole
}

/// Loss and gradients of a loaded step; an error of them names the clips.
StepResult loss_and_gradients(const Prefetcher::Loaded& loaded, int64_t step, const TrainConfig& config,
                              Rank& rank, const Dataset& dataset) {
  try {
    return run_loss_and_gradients(
        loaded.step.plan, step, loss_count(loaded.step.total_tokens, config.model), rank.comm, rank.flow,
        rank.attention, rank.sync, rank.parameters, [&](int64_t wave) { return loaded.waves[size_t(wave)]; },
        *rank.ops);
  } catch (const NonFiniteError& error) {
    std::string clips;
    for (const int64_t sample : error.samples)
      clips +=
          (clips.empty() ? "" : ", ") + dataset.samples()[size_t(loaded.step.samples[size_t(sample)])].name;
    throw Error(join_message(
        error.what(), "; clips: ", clips,
        ". Where --resume auto leads here again, remove the newest "
        "checkpoint's folder and go on from an older one, at a lower learning rate or with other data "
        "(--change config,data)"));
  }
}

int train(TrainSetup& setup, Comm& comm) {
  const StopSignal stop;
  const Dataset dataset(setup.config.data.data);
  std::optional<RunLock> lock;
  if (comm.rank() == 0) lock.emplace(setup.run);
  comm.barrier();  // nobody looks for checkpoints while another training may still write some
  open_run(setup, dataset, comm);
  RunState& state = setup.state;
  Rank rank(setup.config, comm, int(state.threads_per_rank),
            workload_of(dataset.lengths(), setup.config.plan.batch, dataset.features()),
            state.memory_per_rank, setup.caps_given() ? std::optional(state.cluster) : std::nullopt);
  state.cluster = rank.cluster;
  start_parameters(setup, rank);
  announce(setup, dataset, rank);

  const TrainConfig& config = setup.config;
  Prefetcher prefetcher(
      dataset, SampleOrder(int64_t(dataset.samples().size()), uint64_t(config.numerics.seed)),
      {setup.plan_request(), state.cost, rank.cluster, config.plan.batch, comm.rank()}, state.draws);
  std::optional<MetricsWriter> log;
  if (comm.rank() == 0) log.emplace(setup.run, state.step);
  const int64_t last_step = setup.last_step();
  const int64_t first_step = state.step;
  int64_t predicted_peak = 0;
  const Clock::time_point run_start = Clock::now();

  for (int64_t step = first_step; step < last_step; ++step) {
    const Clock::time_point start = Clock::now();
    const Prefetcher::Loaded loaded = prefetcher.next();
    check_same_plan(comm, loaded.step.plan_hash, step);
    const StepResult result = loss_and_gradients(loaded, step, config, rank, dataset);
    rank.optimizer.step(step, result.grad_norm);

    predicted_peak = std::max(predicted_peak, rank.predicted_peak_bytes(loaded.step.plan));
    const StepMetrics metrics =
        measure(step, result, loaded.step, setup, rank, seconds_since(start), predicted_peak);
    if (log) {
      log->write(metrics);
      const double per_step = seconds_since(run_start) / double(step + 1 - first_step);
      std::printf("%s\n", to_text_line(metrics, last_step, per_step * double(last_step - step - 1)).c_str());
      std::fflush(stdout);
    }
    const bool stopping = comm.all_reduce_max(stop.raised() ? 1 : 0) > 0;
    const bool due = config.checkpoint.every > 0 && (step + 1) % config.checkpoint.every == 0;
    if (due || stopping || step + 1 == last_step)
      save(setup, state, rank, step + 1, loaded.step.first_draw + config.plan.batch);
    if (stopping && step + 1 < last_step) {
      if (comm.rank() == 0)
        log_info(join_message("stopped by a signal after step ", step + 1, "; go on with --resume auto"));
      return 0;
    }
  }
  if (comm.rank() == 0)
    std::printf("done: step %lld, checkpoint in %s/checkpoints\n", static_cast<long long>(last_step),
                setup.run.c_str());
  return 0;
}

/// `setup` is the rank's own: ranks may be threads.
int train_on_rank(TrainSetup setup, Comm& host) {
  check_cp(setup.config.plan, host.size());
  check_bags(setup.config.plan, host.size());
  const std::unique_ptr<Comm> transport = start_device(setup.config, host);
  return train(setup, *transport);
}

}  // namespace

Command train_command(const RunRanks& run_ranks) {
  auto setup = std::make_shared<TrainSetup>();
  Command command;
  command.name = "train";
  command.help = "train a DiT on a data set, every sample on its own ring of ranks";
  command.footer =
      "Stops after a checkpoint on SIGTERM; under your own mpirun send SIGUSR1 (mpirun kills its ranks a "
      "second after\n"
      "SIGTERM). Without --cost: RUN/cost.toml if it is there, else the built-in data-sheet set.";
  setup->config.add_to(command.options);
  command.options.add_flag("run", setup->run, "run folder: config, metrics, TensorBoard events, checkpoints");
  command.options.add_flag("steps", setup->steps,
                           "stop after this step, with a checkpoint; 0: the schedule's length");
  command.options.add_flag("resume", setup->resume,
                           "'auto' (newest checkpoint of RUN) or a checkpoint folder");
  command.options.add_flag("change", setup->changes,
                           "what may differ from the checkpoint: cost, memory, config, data");
  command.ignored_tables = {"ingest"};
  setup->command = command;  // shares `given`
  command.run = [setup, run_ranks] {
    setup->check_flags();
    const int code = run_ranks(
        setup->config.parallel.ranks, [setup](Comm& host) { return train_on_rank(*setup, host); }, true);
    if (code > 128) announce_restart(setup->run);
    return code;
  };
  return command;
}

}  // namespace zoetrope
