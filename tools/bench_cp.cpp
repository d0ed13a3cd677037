// bench cp: the same global batches for real under every planner, with the same ranks, memory cap and model.
// Weights stay as they are (the optimizer runs at learning rate 0), so that all losses must agree.
#include "tools/bench_cp.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "core/clocks.h"
#include "core/files.h"
#include "core/log.h"
#include "parallel/comm_link.h"
#include "parallel/comm_recording.h"
#include "parallel/step.h"
#include "tools/launch.h"
#include "tools/profile_step.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

/// Binds this rank to one of the cores that the process may use, so that no rank borrows another's.
void pin_to_core(int rank) {
  cpu_set_t allowed, one;
  ZT_CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity failed");
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || seen++ != rank) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ZT_CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "rank ", rank, " can't be bound to core ", core);
    return;
  }
}

/// Seconds that a rank waits for a tiny collective that all joined.
double collective_latency(Comm& comm) {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    comm.barrier();
    const int64_t start = wall_ns();
    comm.all_reduce_max(1);
    times.push_back(1e-9 * double(wall_ns() - start));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Part of a summed tensor that each of `ranks` sends, and receives.
double traffic_share(int ranks) { return 2.0 * (ranks - 1) / ranks; }

class CpBench {
 public:
  CpBench(const BenchOptions& options, Comm& comm)
      : options_(options), config_(options.config), comm_(comm), dataset_(config_.data.data) {
    require_same_patch(config_.model, dataset_, config_.data.data);
    setting_.ranks = comm.size();
    setting_.cores = available_cores();
    setting_.is_wall = comm.size() <= setting_.cores;
    setting_.precision = config_.numerics.precision;
    setting_.link_hides = options.link_hides;
    config_.optimisation.learning_rate = config_.optimisation.final_learning_rate = 0;
    if (setting_.is_wall) pin_to_core(comm.rank());
  }

  int run() {
    open();
    entries_ = plan_entries(options_, dataset_, cost_, rank_->cluster);
    load();
    find_loss_tolerance();
    measured_.resize(entries_.size());
    for (CpMeasurement& m : measured_) m.steps.resize(size_t(options_.batches));
    for (size_t e = 0; e < entries_.size(); ++e)  // first touches and kernels of new shapes
      for (size_t b = 0; b < size_t(options_.batches); ++b) run_step(entries_[e].steps[b], batches_[e][b]);
    for (int64_t step = 0; step < options_.steps; ++step) {
      const size_t b = size_t(step % options_.batches);
      for (size_t i = 0; i < entries_.size(); ++i) {
        const size_t e = (i + size_t(step)) % entries_.size();  // nobody is always first
        measure_step(e, b);
      }
      say(join_message("step ", step + 1, " of ", options_.steps));
    }
    check_losses();
    report();
    return 0;
  }

 private:
  void say(const std::string& line) const {
    if (comm_.rank() == 0) log_info(line);
  }

  /// Rank, memory cap, cost set and link.
  void open() {
    if (!config_.plan.cost.empty()) cost_ = rings_only(find_cost(config_.plan.cost));
    const int64_t memory = memory_limit(config_, cost_, comm_);
    const Workload workload = workload_of(dataset_.lengths(), config_.plan.batch, dataset_.features());
    recording_ = make_recording_comm(comm_, recorder_);
    make_rank(workload, memory);
    measure_rates();  // on the bare link: the emulated one follows from them
    if (cost_.optimizer_ns == 0) cost_.optimizer_ns = measure_optimizer(*rank_);  // no set, or an old one
    if (options_.link_hides > 0 && setting_.is_wall && comm_.size() > 1) {
      rank_.reset();
      link_ = make_link_comm(comm_, setting_.link.bytes_per_second, 0);
      recording_ = make_recording_comm(*link_, recorder_);
      make_rank(workload, memory);
    }
    setting_.optimizer_ns = cost_.optimizer_ns;
    setting_.memory_per_rank = memory;
    setting_.tokens_per_rank = rank_->cluster.tokens_per_slot;
    setting_.num_steps = options_.steps;
  }

  void make_rank(const Workload& workload, int64_t memory) {
    rank_ = std::make_unique<Rank>(config_, *recording_, 1, workload, memory, std::nullopt, nullptr, &watch_);
    rank_->parameters.initialise(uint64_t(config_.numerics.seed));
    rank_->parameters.prepare();
  }

  /// The link as it is: for wall time measured now, for a replay the cost set's, since ranks that share cores
  /// can't measure it.
  void measure_rates() {
    const int ranks = comm_.size();
    LinkModel& link = setting_.link;
    LinkRate fast;
    double all_reduce_ns = 0;
    const double gradient_bytes = double(rank_->parameters.grads().bytes());
    const bool has_link = cost_.transfer_ns > 0 && cost_.ranks_per_node > 1 && !config_.plan.cost.empty();
    if (ranks > 1 && !setting_.is_wall && has_link) {
      fast = {1e9 * exchange_bytes_per_token(config_.model, rank_->precision) / cost_.transfer_ns,
              1e-9 * cost_.latency_ns / exchanges_per_step(config_.model)};
      link.collective_ns_per_byte = cost_.allreduce_ns / gradient_bytes * traffic_share(ranks) /
                                    traffic_share(int(cost_.ranks_per_node));
      link.collective_latency_ns = std::llround(2e9 * fast.latency_seconds);
    } else if (ranks > 1 && !setting_.is_wall) {
      fast = measure_pair_link(comm_, rank_->device);
      link.collective_ns_per_byte = 1e9 * traffic_share(ranks) / fast.bytes_per_second;
      link.collective_latency_ns = std::llround(2e9 * fast.latency_seconds);
    } else if (ranks > 1) {
      fast = measure_link(comm_, rank_->device);
      all_reduce_ns = 1e9 * measure_all_reduce(*rank_);
      link.collective_ns_per_byte = all_reduce_ns / gradient_bytes;
      link.collective_latency_ns = std::llround(1e9 * comm_.all_reduce_max(collective_latency(comm_)));
    }
    link.bytes_per_second = fast.bytes_per_second;
    link.latency_ns = std::llround(1e9 * fast.latency_seconds);
    settle_cost(all_reduce_ns > 0 ? all_reduce_ns : link.collective_ns_per_byte * gradient_bytes, fast);
    if (options_.link_hides > 0 && ranks > 1) slow_down_link();
  }

  /// The rate at which a block of `link_hides` tokens just hides behind attention.
  void slow_down_link() {
    LinkModel& link = setting_.link;
    // A block of T tokens: K and V are 2 T D values, attention to it takes 4 T^2 D / F seconds.
    const int64_t tokens = std::min<int64_t>(options_.link_hides, 1024);
    setting_.attention_flops = mean_over_ranks(comm_, measure_attention(*rank_, config_.model, tokens, 0.5));
    link.bytes_per_second = setting_.attention_flops * double(size_of(rank_->precision.compute)) /
                            (2 * double(options_.link_hides));
    link.latency_ns = 0;
    cost_.transfer_ns =
        1e9 * exchange_bytes_per_token(config_.model, rank_->precision) / link.bytes_per_second;
  }

  /// The given cost set, or one measured now; what one rank could not measure comes from this run.
  void settle_cost(double all_reduce_ns, const LinkRate& fast) {
    setting_.cost_source = config_.plan.cost;
    if (!setting_.is_wall && !config_.plan.cost.empty())
      say("note: ranks that share cores compute slower than the cost set says unless it was measured with as "
          "many of them; without --cost this run measures one");
    if (!setting_.is_wall) cost_.allreduce_ns = all_reduce_ns;  // of this many ranks
    if (config_.plan.cost.empty()) {
      say("no --cost: measuring forward and backward");
      const std::vector<StepSample> samples =
          samples_of(measure_steps(*rank_, config_.model, recorder_, watch_, 8, [](const std::string&) {}));
      constexpr size_t kLeastSteps = 5;  // the fit has six unknowns, one of them for rings of unequal shards
      ZT_REQUIRE(samples.size() >= kLeastSteps, "bench cp: with at most ", rank_->cluster.tokens_per_slot,
                 " tokens per rank only ", samples.size(),
                 " micro-batches can be measured, and a cost set needs ", kLeastSteps,
                 "; give --cost FILE (of `zoetrope profile --out FILE`), or a larger --batch");
      const StepFit fit = fit_steps(samples);
      fit.apply_to(cost_);
      cost_.transfer_ns = cost_.latency_ns = 0;
      setting_.cost_source =
          join_message("measured in this run, fit error ", std::round(1000 * fit.largest_error) / 10, " %");
    }
    if (comm_.size() == 1 || cost_.transfer_ns > 0) return;
    cost_.transfer_ns =
        1e9 * exchange_bytes_per_token(config_.model, rank_->precision) / fast.bytes_per_second;
    cost_.latency_ns = 1e9 * exchanges_per_step(config_.model) * fast.latency_seconds;
    cost_.allreduce_ns = all_reduce_ns;
  }

  std::vector<MicroBatch> load_waves(const PlannedStep& step) const {
    std::vector<MicroBatch> waves;
    for (int64_t wave = 0; wave < int64_t(step.plan.waves.size()); ++wave)
      waves.push_back(load_micro_batch(dataset_, step, wave, comm_.rank()));
    return waves;
  }

  void load() {
    for (const CpEntry& entry : entries_) {
      batches_.emplace_back();
      for (const PlannedStep& step : entry.steps) batches_.back().push_back(load_waves(step));
    }
  }

  /// A whole training step on this rank, but for the loader.
  StepResult run_step(const PlannedStep& step, const std::vector<MicroBatch>& waves) {
    check_same_plan(rank_->comm, step.plan_hash, 0);
    const StepResult result = run_loss_and_gradients(
        step.plan, 0, loss_count(step.total_tokens, config_.model), rank_->comm, rank_->flow,
        rank_->attention, rank_->sync, rank_->parameters,
        [&](int64_t wave) {
          recorder_.mark(wave);
          return waves[size_t(wave)];
        },
        *rank_->ops);
    rank_->optimizer.step(0, result.grad_norm);
    rank_->ops->stream().synchronize();
    return result;
  }

  /// Ranks that waited for a slow link start the next step with a cold processor, which training on that plan
  /// doesn't meet: on a link of 10 MB/s whole samples seemed to take 11 % longer after a ring of them. Half
  /// as long as they waited brings it back.
  void warm_up(size_t b) {
    for (double left = 0.5 * waited_seconds_; left > 0; left -= quickest_seconds_)
      run_step(entries_[quickest_].steps[b], batches_[quickest_][b]);
    waited_seconds_ = 0;
  }

  void measure_step(size_t e, size_t b) {
    warm_up(b);
    comm_.barrier();
    rank_->attention.stats() = {};
    recorder_.begin();
    const int64_t start = wall_ns();
    const StepResult result = run_step(entries_[e].steps[b], batches_[e][b]);
    const int64_t end = wall_ns();
    recorder_.end();
    CpStep step;
    step.loss = result.loss;
    step.wall_seconds = comm_.all_reduce_max(1e-9 * double(end - start));
    step.wait_seconds = mean_over_ranks(comm_, rank_->attention.stats().wait_seconds);
    if (setting_.is_wall && step.wait_seconds > 0.1 * step.wall_seconds) waited_seconds_ = step.wait_seconds;
    if (step.wall_seconds < quickest_seconds_) {
      quickest_seconds_ = step.wall_seconds;
      quickest_ = e;
    }
    const std::vector<ReplayTrace> traces = gather_traces(comm_, recorder_.trace());
    ReplayResult replayed = replay(traces, setting_.link);
    step.replay_seconds = 1e-9 * double(replayed.total_ns);
    step.replay_wait_seconds = 1e-9 * replayed.mean_wait_ns();
    step.max_over_mean = replayed.max_over_mean();
    measured_[e].steps[b].push_back(step);
    if (b == 0) measured_[e].timeline = std::move(replayed);
  }

  /// Four times what runs differ that differ only in the order of summation, and never below 16 roundoffs.
  void find_loss_tolerance() {
    const double roundoff = rank_->precision.compute == DType::kF32 ? 0x1p-24 : 0x1p-8;
    setting_.loss_tolerance = 16 * roundoff;
    for (const PlannedStep& step : entries_[0].steps) {
      const double loss = run_step(step, load_waves(step)).loss;
      for (const PlannedStep& variant : summation_variants(step, rank_->cluster)) {
        const double other = run_step(variant, load_waves(variant)).loss;
        setting_.loss_tolerance = std::max(setting_.loss_tolerance, 4 * std::abs(other / loss - 1));
      }
    }
  }

  void check_losses() {
    for (size_t b = 0; b < size_t(options_.batches); ++b) {
      const double reference = measured_[0].steps[b][0].loss;
      for (size_t e = 0; e < entries_.size(); ++e)
        for (const CpStep& step : measured_[e].steps[b]) {
          ZT_REQUIRE(step.loss == measured_[e].steps[b][0].loss, "planner ", entries_[e].planner, ", batch ",
                     b, ": the same step gave loss ", measured_[e].steps[b][0].loss, " and then ", step.loss);
          setting_.loss_spread = std::max(setting_.loss_spread, std::abs(step.loss / reference - 1));
          ZT_REQUIRE(std::abs(step.loss / reference - 1) <= setting_.loss_tolerance, "losses differ: batch ",
                     b, " under planner ", entries_[e].planner, " gives ", step.loss, ", under ",
                     entries_[0].planner, " ", reference, "; allowed is a relative difference of ",
                     setting_.loss_tolerance);
        }
    }
  }

  void report() const {
    if (comm_.rank() != 0) return;
    const std::vector<CpRow> rows = make_rows(entries_, measured_, setting_);
    if (!options_.json) print_rows(setting_, rows);
    report_json(options_, rows_to_json(setting_, rows));
    if (!options_.timeline.empty())
      write_file_atomically(options_.timeline, timeline_html(entries_, measured_));
  }

  const BenchOptions& options_;
  TrainConfig config_;
  Comm& comm_;
  Dataset dataset_;
  ReplayRecorder recorder_;
  PassWatch watch_{recorder_};
  std::unique_ptr<Comm> link_, recording_;
  std::unique_ptr<Rank> rank_;
  CostModel cost_;
  CpSetting setting_;
  std::vector<CpEntry> entries_;
  double waited_seconds_ = 0;        ///< in the step before, if it was much of it
  double quickest_seconds_ = 1e300;  ///< of a measured step, one of entry quickest_
  size_t quickest_ = 0;
  std::vector<std::vector<std::vector<MicroBatch>>> batches_;  // [entry][batch][wave]
  std::vector<CpMeasurement> measured_;
};

}  // namespace

int bench_cp(const BenchOptions& options, Comm& host) {
  if (options.config.data.data.empty())
    throw UsageError("no data set: give --data DATASET, a folder that `zoetrope ingest` wrote");
  PlanOptions plan = options.config.plan;
  plan.planner = "static";  // the planners that --cp is for; a file's cp doesn't bind the others
  check_cp(plan, host.size());
  plan.planner = "bags";
  check_bags(plan, host.size());
  const std::unique_ptr<Comm> transport = start_device(options.config, host);
  return CpBench(options, *transport).run();
}

}  // namespace zoetrope
