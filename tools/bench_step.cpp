// bench step: how much of the best matrix-product rate a whole training step reaches.
//   FLOPs of a step = 2 per multiply-add, forward + 2 x backward, recompute not counted (model/flops.h)
//   share = FLOPs / wall time of the whole step, AdamW and EMA included / best rate over 2048^3, 4096^3 and
//   the model's own products, measured before, between and after the steps with the same threads
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "core/clocks.h"
#include "model/flops.h"
#include "parallel/step.h"
#include "tools/bench.h"
#include "tools/gemm_rate.h"
#include "tools/profile_step.h"
#include "tools/rank_device.h"
#include "tools/synthetic_batch.h"
#include "tools/timed_ops.h"

namespace zoetrope {
namespace {

constexpr int64_t kDefaultTokens = 8192, kSampleTokens = 2048;

struct StepShare {
  std::string precision;
  int64_t tokens = 0, parameters = 0;
  double flops = 0, best_step_seconds = 0, median_step_seconds = 0, gemm_flops = 0;
  std::string best_gemm;
  std::map<std::string, OpTime> ops;  ///< of the best step
  /// What no operator of the best step explains.
  double seconds_outside() const {
    double rest = best_step_seconds;
    for (const auto& [name, time] : ops) rest -= time.seconds;
    return rest;
  }
  double share(double seconds) const { return flops / seconds / gemm_flops; }
};

/// Best rate per shape so far.
class GemmPeak {
 public:
  GemmPeak(const ModelConfig& model, const Rank& rank, int64_t tokens)
      : shapes_(model_gemm_shapes(model, tokens)), rank_(rank) {
    shapes_.push_back(cubic_gemm_shape(2048));
    shapes_.push_back(cubic_gemm_shape(4096));
  }
  void measure() {
    for (const GemmShape& shape : shapes_) {
      double& best = rates_[shape.name];
      best = std::max(best, measure_gemm(*rank_.ops, rank_.pool, shape, rank_.precision.compute, 0.3));
    }
  }
  std::pair<std::string, double> best() const {
    return *std::max_element(rates_.begin(), rates_.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
  }
  void print() const {
    for (const GemmShape& shape : shapes_)
      std::printf("  product %-8s [%lld x %lld x %lld]: %s\n", shape.name.c_str(),
                  static_cast<long long>(shape.m), static_cast<long long>(shape.n),
                  static_cast<long long>(shape.k), rate_text(rates_.at(shape.name)).c_str());
  }

 private:
  std::vector<GemmShape> shapes_;
  const Rank& rank_;
  std::map<std::string, double> rates_;
};

StepShare measure_share(const BenchOptions& options, const std::string& precision, Comm& host) {
  TrainConfig config = options.config;
  config.numerics.precision = precision;
  const std::unique_ptr<Comm> transport = start_device(config, host);
  Comm& comm = *transport;
  const int64_t tokens = options.tokens > 0 ? options.tokens : kDefaultTokens;
  std::vector<int64_t> lengths;
  for (int64_t left = tokens; left > 0; left -= kSampleTokens)
    lengths.push_back(std::min(left, kSampleTokens));
  const Workload workload{lengths.front(), tokens, int64_t(lengths.size()), config.model.in_features()};
  Rank rank(config, comm, threads_per_rank(config.parallel, comm.size()), workload, 0,
            Cluster{comm.size(), tokens, int64_t(lengths.size())},
            [](std::unique_ptr<Ops> ops) { return std::make_unique<TimedOps>(std::move(ops)); });
  TimedOps& timed = dynamic_cast<TimedOps&>(*rank.ops);
  rank.parameters.initialise(uint64_t(config.numerics.seed));
  rank.parameters.prepare();
  const Plan plan = plan_of_equal_slots(comm.size(), lengths);
  std::vector<int64_t> all_lengths;
  for (int slot = 0; slot < comm.size(); ++slot)
    all_lengths.insert(all_lengths.end(), lengths.begin(), lengths.end());
  const MicroBatch batch = make_synthetic_batch(plan, 0, comm.rank(), all_lengths, config.model);

  StepShare result;
  result.precision = precision;
  result.tokens = tokens * comm.size();
  result.parameters = rank.parameters.count();
  result.flops = train_flops(config.model, lengths);
  GemmPeak peak(config.model, rank, tokens);
  std::vector<double> seconds;
  // Operators of a GPU are only issued: waiting for each is a step of its own, after the timed ones.
  const int64_t step_of_operators = rank.device == Device::kCpu ? -1 : options.steps + 1;
  for (int64_t step = 0; step <= std::max(options.steps, step_of_operators); ++step) {
    timed.wait_for_each(step == step_of_operators);
    if (step % std::max<int64_t>(1, options.steps / 2) == 0) peak.measure();
    timed.reset();
    const int64_t start = wall_ns();
    const StepResult done = run_loss_and_gradients(
        plan, step, loss_count(result.tokens, config.model), comm, rank.flow, rank.attention, rank.sync,
        rank.parameters, [&](int64_t) { return batch; }, *rank.ops);
    rank.optimizer.step(step, done.grad_norm);
    rank.ops->stream().synchronize();
    if (step == step_of_operators) {
      result.ops = timed.times();
      break;
    }
    const double wall = comm.all_reduce_max(1e-9 * double(wall_ns() - start));
    if (step == 0) continue;  // it warms up
    if (seconds.empty() || wall < *std::min_element(seconds.begin(), seconds.end()))
      result.ops = timed.times();
    seconds.push_back(wall);
  }
  peak.measure();
  if (comm.rank() == 0 && !options.json) peak.print();
  std::sort(seconds.begin(), seconds.end());
  result.best_step_seconds = seconds.front();
  result.median_step_seconds = seconds[seconds.size() / 2];
  std::tie(result.best_gemm, result.gemm_flops) = peak.best();
  return result;
}

/// Where the best step went: operators of one kind and shape from the dearest on, then what no operator
/// explains.
void print_operators(const StepShare& s) {
  std::vector<std::pair<std::string, OpTime>> ops(s.ops.begin(), s.ops.end());
  std::sort(ops.begin(), ops.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  const auto line = [&s](const std::string& name, int64_t calls, double seconds) {
    std::printf("  %-56s %5lld %9.1f ms %5.1f %%\n", name.c_str(), static_cast<long long>(calls),
                1e3 * seconds, 100 * seconds / s.best_step_seconds);
  };
  for (const auto& [name, time] : ops) line(name, time.calls, time.seconds);
  line("outside of operators", 1, s.seconds_outside());
}

nlohmann::ordered_json to_json(const StepShare& s) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const auto& [name, time] : s.ops)
    ops.push_back({{"name", name}, {"calls", time.calls}, {"ms", 1e3 * time.seconds}});
  return {{"precision", s.precision},
          {"tokens", s.tokens},
          {"parameters", s.parameters},
          {"flops_per_rank", s.flops},
          {"step_ms_best", 1e3 * s.best_step_seconds},
          {"step_ms_median", 1e3 * s.median_step_seconds},
          {"gemm_flops", s.gemm_flops},
          {"gemm_shape", s.best_gemm},
          {"share_best", s.share(s.best_step_seconds)},
          {"share_median", s.share(s.median_step_seconds)},
          {"operators", ops},
          {"outside_of_operators_ms", 1e3 * s.seconds_outside()}};
}

void print(const StepShare& s, int64_t steps) {
  std::printf(
      "  %s: %.1f M parameters, step of %lld tokens, %.0f GFLOP per rank: best %.0f ms, median %.0f ms of "
      "%lld\n",
      s.precision.c_str(), double(s.parameters) / 1e6, static_cast<long long>(s.tokens), s.flops / 1e9,
      1e3 * s.best_step_seconds, 1e3 * s.median_step_seconds, static_cast<long long>(steps));
  std::printf("  %s: best %s, median %s; best product %s (%s): share %.1f %% best, %.1f %% median\n",
              s.precision.c_str(), rate_text(s.flops / s.best_step_seconds).c_str(),
              rate_text(s.flops / s.median_step_seconds).c_str(), rate_text(s.gemm_flops).c_str(),
              s.best_gemm.c_str(), 100 * s.share(s.best_step_seconds), 100 * s.share(s.median_step_seconds));
}

}  // namespace

int bench_step(const BenchOptions& options, Comm& comm) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::string& precision : options.precisions) {
    const StepShare share = measure_share(options, precision, comm);
    rows.push_back(to_json(share));
    if (comm.rank() == 0 && !options.json) {
      print_operators(share);
      print(share, options.steps);
    }
  }
  if (comm.rank() == 0)
    report_json(options, nlohmann::ordered_json{{"bench", "step"}, {"rows", rows}}.dump(2));
  return 0;
}

}  // namespace zoetrope
