#include "schedule/cost.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/files.h"
#include "core/options.h"
#include "schedule/fixed_cost.h"
#include "schedule/kernel_choices.h"

namespace zoetrope {
namespace {

int64_t to_fixed(const char* name, double value, double unit) {
  ZT_REQUIRE(std::isfinite(value) && value >= 0 && value < 0x1p30, "cost: ", name, " is ", value,
             ", expected a number of nanoseconds from 0 to 2^30");
  return std::llround(value * unit);
}

OptionSet options_of(CostModel& cost) {
  OptionSet options;
  options.add_table("cost", cost);
  return options;
}

/// Files from before these were measured lack them and plan without what they describe, which 0 says.
bool may_lack(const std::string& name) {
  static const std::vector<std::string> names{
      "exchange-ns",       "transfer-between-ns", "latency-between-ns",   "all-to-all-ns",
      "num-heads",         "short-block-tokens",  "optimizer-ns",         "num-layers",
      "linear-forward-ns", "linear-recompute-ns", "quadratic-forward-ns", "quadratic-recompute-ns",
      "linear-flops",      "quadratic-flops"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Throws: UsageError that names the fields, none of which has a value that would be true of any machine.
void require_all(const OptionSet& options, const std::vector<std::string>& named, const std::string& path) {
  std::string missing;
  for (const Option& option : options.options())
    if (option.table == "cost" && !may_lack(option.name) &&
        std::find(named.begin(), named.end(), option.name) == named.end())
      missing += (missing.empty() ? "" : ", ") + option.name;
  if (!missing.empty())
    throw UsageError(join_message(path, ": table [cost] lacks ", missing,
                                  "; the file is cut or not a cost set: write it anew with 'zoetrope "
                                  "profile --out FILE'"));
}

/// Passes are parts of the whole.
void check_parts(const std::string& name, double whole, double forward, double recompute) {
  for (const auto& [part, ns] : {std::pair{"-forward-ns", forward}, std::pair{"-recompute-ns", recompute}})
    ZT_REQUIRE(ns >= 0 && ns <= whole, "cost: ", name, part, " is ", ns, ", expected a part of ", name,
               "-ns, ", whole);
  ZT_REQUIRE(forward + recompute <= whole, "cost: ", name, "-recompute-ns is ", recompute,
             ", expected at most what the forward pass leaves of ", name, "-ns: ", whole - forward);
}

void check_flops(const char* name, double value) {
  ZT_REQUIRE(value >= 0 && value <= 1e18, "cost: ", name, " is ", value,
             ", expected 0 (not known) to 1e18 FLOP");
}

/// What FixedCost does not look at.
void check_ranges(const CostModel& cost) {
  constexpr int64_t kLeastMemory = int64_t(1) << 20, kMostMemory = int64_t(1) << 50, kMostRanks = 1 << 16;
  const double flops = cost.gemm_flops, error = cost.fit_error;
  ZT_REQUIRE(flops == 0 || (flops >= 1e6 && flops <= 1e18), "cost: gemm-flops is ", flops,
             ", expected 0 (not measured) or 1e6 to 1e18 FLOP/s");
  ZT_REQUIRE(cost.memory_per_rank == 0 ||
                 (cost.memory_per_rank >= kLeastMemory && cost.memory_per_rank <= kMostMemory),
             "cost: memory-per-rank is ", cost.memory_per_rank, ", expected 0 (not given) or ", kLeastMemory,
             " to ", kMostMemory, " bytes");
  ZT_REQUIRE(cost.ranks_per_node >= 1 && cost.ranks_per_node <= kMostRanks, "cost: ranks-per-node is ",
             cost.ranks_per_node, ", expected 1 to ", kMostRanks);
  ZT_REQUIRE(cost.num_heads >= 0 && cost.num_heads <= kMostRanks, "cost: num-heads is ", cost.num_heads,
             ", expected 0 (rings only) to ", kMostRanks);
  check_parts("linear", cost.linear_ns, cost.linear_forward_ns, cost.linear_recompute_ns);
  check_parts("quadratic", cost.quadratic_ns, cost.quadratic_forward_ns, cost.quadratic_recompute_ns);
  ZT_REQUIRE(cost.num_layers >= 0 && cost.num_layers <= kMostRanks, "cost: num-layers is ", cost.num_layers,
             ", expected 0 (not known) to ", kMostRanks);
  check_flops("linear-flops", cost.linear_flops);
  check_flops("quadratic-flops", cost.quadratic_flops);
  ZT_REQUIRE(std::isfinite(error) && error >= 0, "cost: fit-error is ", error,
             ", expected a finite number, 0 or more");
}

}  // namespace

FixedCost::FixedCost(const CostModel& cost)
    : linear(to_fixed("linear-ns", cost.linear_ns, 0x1p32)),
      quadratic(to_fixed("quadratic-ns", cost.quadratic_ns, 0x1p32)),
      transfer(to_fixed("transfer-ns", cost.transfer_ns, 0x1p32)),
      exchange(to_fixed("exchange-ns", cost.exchange_ns, 0x1p32)),
      transfer_between(to_fixed("transfer-between-ns", cost.transfer_between_ns, 0x1p32)),
      all_to_all(to_fixed("all-to-all-ns", cost.all_to_all_ns, 0x1p32)),
      latency(to_fixed("latency-ns", cost.latency_ns, 1)),
      latency_between(to_fixed("latency-between-ns", cost.latency_between_ns, 1)),
      segment(to_fixed("sample-overhead-ns", cost.sample_overhead_ns, 1)),
      wave(to_fixed("wave-overhead-ns", cost.wave_overhead_ns, 1)),
      allreduce(to_fixed("allreduce-ns", cost.allreduce_ns, 1)),
      optimizer(to_fixed("optimizer-ns", cost.optimizer_ns, 1)),
      short_block(to_fixed("short-block-tokens", cost.short_block_tokens, 1)),
      num_heads(cost.num_heads),
      ranks_per_node(std::max<int64_t>(1, cost.ranks_per_node)) {
  if (transfer_between == 0) transfer_between = transfer;
  if (latency_between == 0) latency_between = latency;
  ZT_REQUIRE(transfer_between >= transfer && latency_between >= latency,
             "cost: links between nodes are faster than links inside (transfer-between-ns ",
             cost.transfer_between_ns, " < ", cost.transfer_ns, " or latency-between-ns ",
             cost.latency_between_ns, " < ", cost.latency_ns, "); set ranks-per-node to all ranks instead");
  ZT_REQUIRE(linear + quadratic > 0,
             "cost: linear-ns and quadratic-ns are both 0, so every plan takes no time; "
             "write the set anew with 'zoetrope profile --out FILE'");
}

CostModel read_cost(const std::string& path) {
  CostModel cost;
  KernelChoices kernels;  // in the same file, read by find_kernel_choices
  OptionSet options = options_of(cost);
  options.add_table("kernels", kernels);
  require_all(options, load_toml(options, path), path);
  try {
    FixedCost{cost};
    check_ranges(cost);
  } catch (const Error& problem) { throw UsageError(join_message(path, ": ", problem.what())); }
  return cost;
}

void write_cost(const std::string& path, const CostModel& cost) {
  CostModel copy = cost;
  write_file_atomically(path, dump_toml(options_of(copy)));
}

uint64_t hash_of(const CostModel& cost) {
  CostModel copy = cost;
  return fnv1a(dump_toml(options_of(copy)));
}

CostModel rings_only(CostModel cost) {
  cost.num_heads = 0;
  return cost;
}

int64_t shard_ns(const CostModel& cost, int64_t tokens, const std::vector<int64_t>& others) {
  const FixedCost fixed(cost);
  int64_t total = others.empty() ? fixed.whole(tokens) : fixed.own(tokens);
  for (int64_t block : others) total += fixed.remote(tokens, block);
  return total;
}

}  // namespace zoetrope
