// zoetrope profile: measures this machine with a config's model and writes the cost set that planning reads.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "core/clocks.h"
#include "core/files.h"
#include "parallel/comm_recording.h"
#include "tools/commands.h"
#include "tools/gemm_rate.h"
#include "tools/launch.h"
#include "tools/profile_step.h"
#include "tools/ranges.h"

namespace zoetrope {
namespace {

struct ProfileSetup {
  TrainConfig config;
  std::string out;
  double seconds = 9;  ///< for the steps; all of it stays below 20
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  utsname system{};
  uname(&system);
  return system.machine;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

int64_t physical_bytes() { return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE); }

void print_fit(const std::vector<MeasuredStep>& steps, const StepFit& fit) {
  std::printf("\n  %-28s %10s %10s %8s\n", "forward and backward of", "measured", "fitted", "off by");
  for (const MeasuredStep& step : steps)
    std::printf("  %-28s %8.2fms %8.2fms %7.1f%%\n", step.what.c_str(), step.sample.ns / 1e6,
                fit.predict(step.sample) / 1e6, 100 * (fit.predict(step.sample) / step.sample.ns - 1));
}

void print_cost(const CostModel& cost, const LinkRate& link, int ranks, int threads) {
  const auto row = [](const char* what, double value, const char* unit, const char* note = "") {
    std::printf("  %-24s %14.6g %-10s %s\n", what, value, unit, note);
  };
  std::printf("\n  %s, %d rank%s of %d thread%s\n", cost.device.c_str(), ranks, ranks > 1 ? "s" : "", threads,
              threads > 1 ? "s" : "");
  row("linear", cost.linear_ns, "ns/token");
  row("quadratic", cost.quadratic_ns, "ns/pair", "of tokens of one sample");
  row("segment", cost.sample_overhead_ns / 1e3, "us");
  row("micro-batch", cost.wave_overhead_ns / 1e3, "us");
  row("exchange", cost.exchange_ns, "ns/token", "of a remote block, never hidden: packing, copies, sums");
  row("transfer", cost.transfer_ns, "ns/token",
      ranks > 1 ? "of a remote block" : "one rank: nothing to measure");
  if (ranks > 1) row("link", link.bytes_per_second / 1e9, "GB/s", "all ranks at once, one direction each");
  row("exchange latency", cost.latency_ns / 1e3, "us", "per exchange step, all blocks");
  row("gradient sum", cost.allreduce_ns / 1e6, "ms");
  row("products, best", cost.gemm_flops / 1e9, "GF/s", "of one rank");
  row("memory per rank", double(cost.memory_per_rank) / 1e9, "GB", "physical memory / ranks, less 20 %");
  row("fit error", 100 * cost.fit_error, "%", "largest");
}

double best_gemm(const ThreadPool& pool, const ModelConfig& model, DType compute,
                 const ProfileProgress& progress) {
  std::vector<GemmShape> shapes = model_gemm_shapes(model, 2048);
  shapes.push_back(cubic_gemm_shape(2048));
  double best = 0;
  for (const GemmShape& shape : shapes) {
    const double rate = measure_gemm(pool, shape, compute, 0.25);
    progress(join_message("product ", shape.name, " [", shape.m, " x ", shape.n, " x ", shape.k,
                          "]: ", rate_text(rate)));
    best = std::max(best, rate);
  }
  return best;
}

int profile(const ProfileSetup& setup, Comm& comm) {
  const TrainConfig& config = setup.config;
  const int ranks = comm.size(), threads = threads_per_rank(config.parallel, ranks);
  const ProfileProgress progress = [&](const std::string& line) {
    if (comm.rank() == 0) std::printf("  %s\n", line.c_str()), std::fflush(stdout);
  };
  ReplayRecorder recorder(work_clock(threads));
  const std::unique_ptr<Comm> recording = make_recording_comm(comm, recorder);
  const int64_t share = physical_bytes() / ranks;
  Rank rank(config, *recording, threads, profile_workload(config.model), share / 2);
  rank.parameters.initialise(1);
  rank.parameters.prepare();

  CostModel cost;
  cost.name = "profile";
  cost.device = processor_name();
  cost.date = today();
  cost.gemm_flops = best_gemm(rank.pool, config.model, rank.precision.compute, progress);
  cost.gemm_flops = -comm.all_reduce_max(-cost.gemm_flops);  // the slowest rank's best
  const std::vector<MeasuredStep> steps =
      measure_steps(rank, config.model, recorder, setup.seconds, progress);
  std::vector<StepSample> samples;
  for (const MeasuredStep& step : steps) samples.push_back(step.sample);
  const StepFit fit = fit_steps(samples);
  ZT_REQUIRE(fit.linear_ns > 0 && samples.size() > 4, samples.size(),
             " measured steps don't give a fit (linear ", fit.linear_ns,
             " ns); the machine is too busy or the model too large: run "
             "'zoetrope profile' again, or with more --seconds");
  LinkRate link;
  if (ranks > 1) link = measure_link(comm);
  cost.linear_ns = fit.linear_ns;
  cost.quadratic_ns = fit.quadratic_ns;
  cost.sample_overhead_ns = fit.segment_ns;
  cost.exchange_ns = fit.remote_ns;
  cost.wave_overhead_ns = fit.wave_ns;
  cost.fit_error = fit.largest_error;
  if (ranks > 1) {
    cost.transfer_ns = 1e9 * exchange_bytes_per_token(config.model, rank.precision) / link.bytes_per_second;
    cost.latency_ns = 1e9 * exchanges_per_step(config.model) * link.latency_seconds;
  }
  cost.allreduce_ns = 1e9 * measure_all_reduce(rank);
  cost.ranks_per_node = ranks;
  cost.memory_per_rank = share / 10 * 8;
  if (comm.rank() != 0) return 0;
  print_fit(steps, fit);
  print_cost(cost, link, ranks, threads);
  write_cost(setup.out, cost);
  std::printf("\nwrote %s\n", setup.out.c_str());
  return 0;
}

}  // namespace

Command profile_command() {
  auto setup = std::make_shared<ProfileSetup>();
  Command command;
  command.name = "profile";
  command.help = "measure this machine with a config's model and write the cost set that planning reads";
  command.footer =
      "Takes less than 20 seconds. Run it on an otherwise idle machine, with the ranks of the training.";
  setup->config.add_to(command.options);
  command.options.add_flag("out", setup->out, "cost file to write");
  command.options.add_flag("seconds", setup->seconds, "time for the steps of the fit");
  command.run = [setup] {
    if (setup->out.empty()) throw UsageError("no place for the result: give --out FILE");
    Ranges().number("seconds", setup->seconds, 0.1, 3600);
    setup->config.validate();
    check_writable(setup->out);
    return run_on_ranks(setup->config.parallel.ranks, [setup](Comm& comm) { return profile(*setup, comm); });
  };
  return command;
}

}  // namespace zoetrope
