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
#include "core/log.h"
#include "model/flops.h"
#include "parallel/comm_recording.h"
#include "schedule/hardware_files.h"
#include "tools/attention_rate.h"
#include "tools/commands.h"
#include "tools/gemm_rate.h"
#include "tools/launch.h"
#include "tools/profile_report.h"
#include "tools/ranges.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

struct ProfileSetup {
  TrainConfig config;
  std::string out, name;
  double seconds = 12;  ///< for the steps; all of it stays below 20
  bool json = false;
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

/// From the FLOP of steps of 0, 1 and 2 tokens, which hold whole numbers.
void set_useful_flops(const ModelConfig& model, CostModel& cost) {
  const auto of = [&](int64_t tokens) { return train_flops(model, {&tokens, 1}); };
  cost.quadratic_flops = (of(2) - 2 * of(1) + of(0)) / 2;
  cost.linear_flops = of(1) - of(0) - cost.quadratic_flops;
}

double best_gemm(const Rank& rank, const ModelConfig& model, const ProfileProgress& progress) {
  std::vector<GemmShape> shapes = model_gemm_shapes(model, 2048);
  shapes.push_back(cubic_gemm_shape(2048));
  double best = 0;
  for (const GemmShape& shape : shapes) {
    const double rate = measure_gemm(*rank.ops, rank.pool, shape, rank.precision.compute, 0.25);
    progress(join_message("product ", shape.name, " [", shape.m, " x ", shape.n, " x ", shape.k,
                          "]: ", rate_text(rate)));
    best = std::max(best, rate);
  }
  return best;
}

Profile measure(const ProfileSetup& setup, Comm& host, const ProfileProgress& progress) {
  TrainConfig config = setup.config;
  config.optimisation.learning_rate = config.optimisation.final_learning_rate = 0;  // weights stay sane
  Profile result;
  const std::unique_ptr<Comm> transport = start_device(config, host);
  Comm& comm = *transport;
  result.ranks = comm.size(), result.threads = threads_per_rank(config.parallel, comm.size());
  result.precision = config.numerics.precision;
  result.model = join_message("width ", config.model.width, ", ", config.model.num_layers, " blocks of ",
                              config.model.num_heads, " heads", config.model.recompute ? ", recompute" : "");
  const Device device = device_of(config.numerics.device);
  std::string& attention = config.numerics.attention_kernel;
  if (attention == "auto") attention = faster_attention(config, comm, progress);
  result.kernels.attention = config.numerics.device == "cpu" ? "" : attention;
  ReplayRecorder recorder(clock_of(device, result.threads));
  PassWatch watch(recorder);
  const std::unique_ptr<Comm> recording = make_recording_comm(comm, recorder);
  const int64_t share =
      device == Device::kCpu
          ? physical_bytes() / result.ranks
          : int64_t(-comm.all_reduce_max(-double(device_info(device).free_bytes + comm.device_bytes())));
  Rank rank(config, *recording, result.threads, profile_workload(config.model), share / 2, std::nullopt,
            nullptr, &watch);
  watch.stream = rank.ops->stream();
  rank.parameters.initialise(1);
  rank.parameters.prepare();
  result.parameters = rank.parameters.values().size();

  CostModel& cost = result.cost;
  cost.name = setup.name.empty() ? "profile" : setup.name;
  cost.device = device == Device::kCpu ? processor_name() : device_info(device).name;
  cost.date = today();
  cost.num_layers = config.model.num_layers;
  set_useful_flops(config.model, cost);
  cost.gemm_flops = best_gemm(rank, config.model, progress);
  cost.gemm_flops = -comm.all_reduce_max(-cost.gemm_flops);  // the slowest rank's best
  result.steps = measure_steps(rank, config.model, recorder, watch, setup.seconds, progress);
  ZT_REQUIRE(
      result.steps.size() > 4, "only ", result.steps.size(),
      " micro-batches were measured, a fit needs 5; the model is too large for the time: run 'zoetrope "
      "profile' again with more --seconds");
  result.fit = fit_steps(samples_of(result.steps));
  result.fit.apply_to(cost);
  ZT_REQUIRE(cost.linear_ns > 0, result.steps.size(), " micro-batches don't give a fit (linear ",
             cost.linear_ns,
             " ns); the machine is too busy: run 'zoetrope profile' again, or with more --seconds");
  if (result.ranks > 1) {
    result.link = measure_link(comm, device);
    cost.transfer_ns =
        1e9 * exchange_bytes_per_token(config.model, rank.precision) / result.link.bytes_per_second;
    cost.latency_ns = 1e9 * exchanges_per_step(config.model) * result.link.latency_seconds;
  }
  cost.allreduce_ns = 1e9 * measure_all_reduce(rank);
  cost.optimizer_ns = measure_optimizer(rank);
  cost.ranks_per_node = result.ranks;
  cost.memory_per_rank = share / 10 * 8;
  return result;
}

int profile(const ProfileSetup& setup, Comm& comm) {
  const ProfileProgress progress = [&](const std::string& line) {
    if (comm.rank() != 0) return;
    if (setup.json) return log_info(line);
    std::printf("  %s\n", line.c_str());
    std::fflush(stdout);
  };
  const Profile result = measure(setup, comm, progress);
  if (comm.rank() != 0) return 0;
  write_cost(setup.out, result.cost);
  write_file_atomically(setup.out, file_header(result) + read_file(setup.out) + kernels_text(result));
  if (setup.json) {
    std::printf("%s\n", profile_to_json(result).c_str());
    return 0;
  }
  print_fit(result);
  print_cost(result);
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
  command.options.add_flag("out", setup->out, "cost file to write; or --name");
  command.options.add_flag("name", setup->name,
                           "name of the cost set; without --out it goes to configs/hardware/NAME.toml, "
                           "installed or of the source tree, where --cost NAME finds it");
  command.options.add_flag("json", setup->json, "print JSON");
  command.options.add_flag("seconds", setup->seconds, "time for the steps of the fit");
  command.run = [setup] {
    if (setup->out.empty() && setup->name.empty())
      throw UsageError("no place for the result: give --out FILE, or --name NAME");
    if (!setup->name.empty() && setup->out.empty()) setup->out = hardware_file_for(setup->name);
    Ranges().number("seconds", setup->seconds, 0.1, 3600);
    setup->config.validate();
    check_writable(setup->out);
    return run_on_ranks(setup->config.parallel.ranks, [setup](Comm& comm) { return profile(*setup, comm); });
  };
  return command;
}

}  // namespace zoetrope
