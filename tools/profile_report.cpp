#include "tools/profile_report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/text_format.h"

namespace zoetrope {
namespace {

void print_row(const char* what, double value, const char* unit, const std::string& note = "") {
  std::printf("  %-24s %14.6g %-10s %s\n", what, value, unit, note.c_str());
}

/// "forward 30 %, recompute 20 %, backward 50 %".
std::string passes_text(double all, double forward, double recompute) {
  if (all <= 0) return "";
  std::string text = "forward " + percent(forward / all);
  if (recompute > 0) text += ", recompute " + percent(recompute / all);
  return text + ", backward " + percent(1 - (forward + recompute) / all);
}

std::string ranks_text(const Profile& profile) {
  return join_message(profile.ranks, " rank", profile.ranks > 1 ? "s" : "", " of ", profile.threads,
                      " thread", profile.threads > 1 ? "s" : "");
}

std::string error_text(const Profile& profile) {
  return join_message("largest ", percent(profile.fit.largest_error), ", median ",
                      percent(profile.fit.median_error), " of ", profile.steps.size(), " micro-batches");
}

}  // namespace

void print_fit(const Profile& profile) {
  std::printf("\n  %-36s %4s %9s %9s %9s %9s %9s %7s\n", "micro-batch of a rank, ms", "runs", "forward",
              "recompute", "backward", "measured", "fitted", "off by");
  for (const MeasuredStep& step : profile.steps) {
    const StepSample& s = step.sample;
    const double fitted = profile.fit.predict(s);
    std::printf("  %-36s %4lld %9.2f %9.2f %9.2f %9.2f %9.2f %6.1f%%\n", step.what.c_str(),
                static_cast<long long>(step.runs), 1e-6 * s.ns[0], 1e-6 * s.ns[1], 1e-6 * s.ns[2],
                1e-6 * s.total_ns(), 1e-6 * fitted, 100 * (fitted / s.total_ns() - 1));
  }
}

void print_cost(const Profile& profile) {
  const CostModel& cost = profile.cost;
  std::printf("\n  %s, %s, %s, %s\n", cost.device.c_str(), ranks_text(profile).c_str(),
              profile.precision.c_str(), cost.date.c_str());
  print_row("linear", cost.linear_ns, "ns/token",
            passes_text(cost.linear_ns, cost.linear_forward_ns, cost.linear_recompute_ns));
  print_row("quadratic", cost.quadratic_ns, "ns/pair",
            passes_text(cost.quadratic_ns, cost.quadratic_forward_ns, cost.quadratic_recompute_ns));
  print_row("segment", cost.sample_overhead_ns / 1e3, "us");
  print_row("micro-batch", cost.wave_overhead_ns / 1e3, "us");
  if (profile.ranks > 1) {
    print_row("short blocks", cost.short_block_tokens, "tokens", "by which attention to a block costs more");
    print_row("exchange", cost.exchange_ns, "ns/token",
              "of a remote block, never hidden: packing, copies, sums");
    print_row("transfer", cost.transfer_ns, "ns/token", "of a remote block");
    print_row("link", profile.link.bytes_per_second / 1e9, "GB/s", "all ranks at once, one direction each");
    print_row("exchange latency", cost.latency_ns / 1e3, "us", "per exchange step, all blocks");
    print_row("gradient sum", cost.allreduce_ns / 1e6, "ms");
  } else {
    std::printf("  one rank: no exchange, transfer and gradient sum to measure\n");
  }
  print_row("optimizer", cost.optimizer_ns / 1e6, "ms",
            "gradient norm, update and prepared weights, per step");
  print_row("products, best", cost.gemm_flops / 1e9, "GF/s", "of one rank");
  print_row("useful work", cost.linear_flops, "FLOP/token",
            join_message("and ", cost.quadratic_flops, " per pair of tokens"));
  print_row("memory per rank", double(cost.memory_per_rank) / 1e9, "GB",
            "physical memory / ranks, less 20 %");
  std::printf("  fit error                %s\n", error_text(profile).c_str());
}

std::string profile_to_json(const Profile& profile) {
  nlohmann::ordered_json cost, steps = nlohmann::ordered_json::array();
  CostModel copy = profile.cost;
  copy.visit([&](const char* name, const auto& value, const char*) { cost[name] = value; });
  for (const MeasuredStep& step : profile.steps) {
    const StepSample& s = step.sample;
    steps.push_back({{"micro_batch", step.what},
                     {"runs", step.runs},
                     {"tokens", s.tokens},
                     {"pairs", s.pairs},
                     {"segments", s.segments},
                     {"remote_tokens", s.remote},
                     {"split_rows", s.split_rows},
                     {"forward_ns", s.ns[0]},
                     {"recompute_ns", s.ns[1]},
                     {"backward_ns", s.ns[2]},
                     {"fitted_ns", profile.fit.predict(s)}});
  }
  return nlohmann::ordered_json{{"cost", cost},
                                {"ranks", profile.ranks},
                                {"threads_per_rank", profile.threads},
                                {"model", profile.model},
                                {"precision", profile.precision},
                                {"parameters", profile.parameters},
                                {"link_bytes_per_s", profile.link.bytes_per_second},
                                {"link_latency_us", 1e6 * profile.link.latency_seconds},
                                {"fit_error_largest", profile.fit.largest_error},
                                {"fit_error_median", profile.fit.median_error},
                                {"steps", steps}}
      .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string file_header(const Profile& profile) {
  return join_message("# Measured by `zoetrope profile` on ", profile.cost.date, ": ", ranks_text(profile),
                      " on ", profile.cost.device, ",\n# model of ", profile.parameters, " parameters (",
                      profile.model, "), ", profile.precision, ". Fit error: ", error_text(profile), ".\n\n");
}

std::string kernels_text(const Profile& profile) {
  return profile.kernels.attention.empty() ? "" : "\n" + to_toml(profile.kernels);
}

}  // namespace zoetrope
