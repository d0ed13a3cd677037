// zoetrope selftest: loss and every gradient on N ranks against one rank, for every planner.
#include <cstdio>

#include "parallel/selftest.h"
#include "tools/commands.h"
#include "tools/launch.h"
#include "tools/ranges.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

struct SelftestFlags {
  int64_t ranks = 0, seed = 1, random_plans = 6;
  std::string precision = "f32";
  TrainConfig config;  ///< of which it takes the device and its transport
  bool json = false;
};

void print_report(const SelftestReport& report) {
  std::printf("%-40s %5s %5s %8s %10s %10s %7s  %s\n", "samples and plan", "waves", "rings", "largest",
              "deviation", "tolerance", "ratio", "worst tensor");
  for (const SelftestRow& row : report.rows)
    std::printf("%-40s %5lld %5lld %8lld %10.2e %10.2e %7.3f  %s%s\n", row.name.c_str(),
                static_cast<long long>(row.waves), static_cast<long long>(row.rings),
                static_cast<long long>(row.largest_ring), row.deviation, row.tolerance, row.ratio,
                row.worst_tensor.c_str(), row.bit_equal ? "" : "  (two runs or two ranks differ in bits)");
  std::printf("%d ranks against one: largest deviation %.3f of its tolerance, %s\n", report.ranks,
              report.worst_ratio(), report.passed() ? "passed" : "FAILED");
}

int selftest(const SelftestFlags& flags, Comm& host) {
  SelftestOptions options;
  options.device = device_of(flags.config.numerics.device);
  const std::unique_ptr<Comm> transport = start_device(flags.config, host);
  Comm& comm = *transport;
  options.precision = Precision::from_name(flags.precision);
  options.seed = uint64_t(flags.seed);
  options.random_plans = flags.random_plans;
  const SelftestReport report = run_selftest(comm, options);
  if (comm.rank() == 0) {
    if (flags.json) std::printf("%s\n", selftest_to_json(report).c_str());
    else print_report(report);
    std::fflush(stdout);
  }
  return report.passed() ? 0 : 3;
}

}  // namespace

Command selftest_command() {
  auto flags = std::make_shared<SelftestFlags>();
  Command command;
  command.name = "selftest";
  command.help = "check on this machine that N ranks compute what one computes";
  command.footer =
      "Compares loss and every gradient of a small network. The tolerance is four times the largest "
      "difference among\n"
      "one-rank runs that differ only in the order of summation. Exit code 3 when a deviation exceeds it.";
  command.options.add_flag("ranks", flags->ranks, "ranks to start; 0: one, or what mpirun or srun gives");
  command.options.add_flag("precision", flags->precision, "type of the products", {"f32", "bf16"});
  command.options.add_flag("seed", flags->seed, "seed of the network, the noise and the random plans");
  command.options.add_flag("random-plans", flags->random_plans,
                           "random valid plans besides those of the planners");
  command.options.add_flag("device", flags->config.numerics.device,
                           "what computes; cuda: a GPU for each rank", {"cpu", "cuda"});
  command.options.add_flag("transfer-timeout", flags->config.parallel.transfer_timeout, kTransferTimeoutHelp);
  command.options.add_flag("json", flags->json, "print the report as JSON");
  command.run = [flags] {
    if (flags->random_plans < 0)
      throw UsageError(join_message("--random-plans ", flags->random_plans, ": expected at least 0"));
    Ranges().positive("transfer-timeout", flags->config.parallel.transfer_timeout);
    return run_on_ranks(flags->ranks, [flags](Comm& comm) { return selftest(*flags, comm); });
  };
  return command;
}

}  // namespace zoetrope
