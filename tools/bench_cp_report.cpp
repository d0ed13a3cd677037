#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/clocks.h"
#include "tools/bench_cp.h"
#include "tools/median.h"
#include "tools/metrics.h"

namespace zoetrope {
namespace {

template <class Value>
std::vector<double> values_of(const std::vector<CpStep>& repeats, Value value) {
  std::vector<double> values;
  for (const CpStep& step : repeats) values.push_back(value(step));
  return values;
}

/// Median over the repeats of each batch, summed over batches.
template <class Value>
double sum_of_medians(const CpMeasurement& measured, Value value) {
  double sum = 0;
  for (const std::vector<CpStep>& repeats : measured.steps) sum += median(values_of(repeats, value));
  return sum;
}

/// Width around the median of each batch's repeats that holds half of them, over the median; mean over
/// batches.
template <class Value>
double mean_spread(const CpMeasurement& measured, Value value) {
  double sum = 0;
  for (const std::vector<CpStep>& repeats : measured.steps) {
    std::vector<double> values = values_of(repeats, value);
    const double middle = median(values);
    for (double& each : values) each = std::abs(each - middle);
    sum += 2 * median(values) / middle;
  }
  return sum / double(measured.steps.size());
}

std::string cp_text(const CpEntry& entry) {
  int64_t least = INT64_MAX, most = 0;
  for (const PlannedStep& step : entry.steps)
    for (const int64_t cp : step.cp_sizes) least = std::min(least, cp), most = std::max(most, cp);
  if (entry.is_static() || least >= most) return std::to_string(entry.is_static() ? entry.cp : most);
  return join_message(least, "-", most);
}

CpRow make_row(const CpEntry& entry, const CpMeasurement& measured, const CpSetting& setting) {
  const bool is_wall = setting.is_wall;
  CpRow row;
  row.planner = entry.planner;
  row.cp = entry.cp;
  row.cp_text = cp_text(entry);
  row.kind = is_wall ? "wall" : "replayed";
  row.is_smallest_that_fits = entry.is_smallest_that_fits;
  row.is_static = entry.is_static();
  const double batches = double(measured.steps.size());
  const double wall = sum_of_medians(measured, [](const CpStep& s) { return s.wall_seconds; });
  const double replayed = sum_of_medians(measured, [](const CpStep& s) { return s.replay_seconds; });
  const double seconds = is_wall ? wall : replayed;
  row.spread =
      mean_spread(measured, [&](const CpStep& s) { return is_wall ? s.wall_seconds : s.replay_seconds; });
  double tokens = 0, makespan = 0, bound = 0, simulated = 0;
  for (const PlannedStep& step : entry.steps) {
    tokens += double(step.total_tokens);
    makespan += double(step.makespan_ns);
    bound += double(step.bound_ns);
  }
  row.step_ms = 1e3 * seconds / batches;
  for (const int64_t ns : entry.simulated_ns) simulated += double(ns);
  row.makespan_over_measured =
      (1e-6 * (makespan / batches + setting.optimizer_ns)) / (1e3 * seconds / batches);
  row.simulated_ms = 1e-6 * simulated / batches;
  row.simulated_over_measured = row.simulated_ms / row.step_ms;
  row.tokens_per_s = tokens / seconds;
  row.exposed_wait_ms = 1e3 / batches * sum_of_medians(measured, [&](const CpStep& s) {
                          return is_wall ? s.wait_seconds : s.replay_wait_seconds;
                        });
  row.max_over_mean = sum_of_medians(measured, [](const CpStep& s) { return s.max_over_mean; }) / batches;
  row.makespan_over_bound = bound > 0 ? makespan / bound : 1;
  row.loss = sum_of_medians(measured, [](const CpStep& s) { return s.loss; }) / batches;
  row.replay_over_wall = replayed / wall;
  return row;
}

std::string link_text(const CpSetting& setting) {
  char text[160];
  if (setting.link_hides > 0)
    std::snprintf(text, sizeof text,
                  "emulated, just hides blocks of %lld tokens: %.1f MB/s (attention %.1f GF/s)",
                  static_cast<long long>(setting.link_hides), setting.link.bytes_per_second / 1e6,
                  setting.attention_flops / 1e9);
  else
    std::snprintf(text, sizeof text, "shared memory as it is: %.2f GB/s, latency %.1f us",
                  setting.link.bytes_per_second / 1e9, double(setting.link.latency_ns) / 1e3);
  return text;
}

/// Smallest and largest replay / wall of the rows.
std::pair<double, double> replay_range(const std::vector<CpRow>& rows) {
  std::pair<double, double> range{1e300, 0};
  for (const CpRow& row : rows)
    range = {std::min(range.first, row.replay_over_wall), std::max(range.second, row.replay_over_wall)};
  return range;
}

void print_order(const CpSetting& setting, const CpOrder& order) {
  std::printf(
      "simulated / measured: %.3f to %.3f (%s 10 %%); order right for %lld of %lld pairs that differ by "
      "more than 3 %% and twice the spread\n",
      order.least_ratio, order.largest_ratio,
      order.least_ratio >= 0.9 && order.largest_ratio <= 1.1 ? "within" : "NOT within",
      static_cast<long long>(order.right), static_cast<long long>(order.pairs));
  std::printf("simulated: the plans layer by layer in the cost set; %.1f ms of each are norm and optimizer\n",
              1e-6 * setting.optimizer_ns);
  for (const std::string& pair : order.wrong)
    std::printf("  measured, but not simulated: %s\n", pair.c_str());
}

}  // namespace

std::vector<CpRow> make_rows(const std::vector<CpEntry>& entries, const std::vector<CpMeasurement>& measured,
                             const CpSetting& setting) {
  std::vector<CpRow> rows;
  for (size_t i = 0; i < entries.size(); ++i) rows.push_back(make_row(entries[i], measured[i], setting));
  double best_static = 0, best_plain = 0;
  for (const CpRow& row : rows) {
    if (row.is_static) best_static = std::max(best_static, row.tokens_per_s);
    if (row.planner == "static") best_plain = std::max(best_plain, row.tokens_per_s);
  }
  for (CpRow& row : rows) {
    if (best_static > 0) row.ratio_to_best_static = row.tokens_per_s / best_static;
    if (best_plain > 0) row.ratio_to_best_plain = row.tokens_per_s / best_plain;
  }
  return rows;
}

CpOrder judge_order(const std::vector<CpRow>& rows) {
  constexpr double kLeastDifference = 0.03;
  CpOrder order;
  if (rows.empty()) return order;
  order.least_ratio = order.largest_ratio = rows[0].simulated_over_measured;
  for (size_t i = 0; i < rows.size(); ++i) {
    order.least_ratio = std::min(order.least_ratio, rows[i].simulated_over_measured);
    order.largest_ratio = std::max(order.largest_ratio, rows[i].simulated_over_measured);
    for (size_t j = 0; j < rows.size(); ++j) {
      const CpRow &fast = rows[i], &slow = rows[j];
      const double least = std::max(kLeastDifference, 2 * std::max(fast.spread, slow.spread));
      if (slow.step_ms <= fast.step_ms * (1 + least)) continue;
      ++order.pairs;
      if (fast.simulated_ms < slow.simulated_ms) ++order.right;
      else
        order.wrong.push_back(
            join_message(fast.planner, " cp ", fast.cp_text, " before ", slow.planner, " cp ", slow.cp_text));
    }
  }
  return order;
}

void print_rows(const CpSetting& setting, const std::vector<CpRow>& rows) {
  std::printf("%d ranks on %lld cores, one thread each; a rank may use %s: %lld tokens; %s\n", setting.ranks,
              static_cast<long long>(setting.cores), bytes_text(setting.memory_per_rank).c_str(),
              static_cast<long long>(setting.tokens_per_rank), setting.precision.c_str());
  std::printf("link %s\ncost set: %s\n", link_text(setting).c_str(), setting.cost_source.c_str());
  if (!setting.is_wall && thread_cpu_step_ns() > kFineClockNs)
    std::printf(
        "note: this kernel counts a thread's CPU time in steps of %.1f ms, so replayed steps are coarse\n",
        1e-6 * double(thread_cpu_step_ns()));
  std::printf("\n");
  std::printf("%-16s %5s %-9s %9s %7s %9s %9s %9s %9s %9s %9s %12s %7s %7s\n", "planner", "cp", "kind",
              "step ms", "spread", "simulated", "/measured", "tokens/s", "wait ms", "max/mean", "/bound",
              "loss", "ratio", "plain");
  for (const CpRow& row : rows)
    std::printf("%-16s %4s%1s %-9s %9.1f %6.1f%% %9.1f %9.3f %9.0f %9.1f %9.3f %9.3f %12.8f %7.3f %7.3f\n",
                row.planner.c_str(), row.cp_text.c_str(), row.is_smallest_that_fits ? "*" : "",
                row.kind.c_str(), row.step_ms, 100 * row.spread, row.simulated_ms,
                row.simulated_over_measured, row.tokens_per_s, row.exposed_wait_ms, row.max_over_mean,
                row.makespan_over_bound, row.loss, row.ratio_to_best_static, row.ratio_to_best_plain);
  std::printf(
      "\n* smallest CP size that fits. ratio: tokens/s against the fastest static row of any kind; plain:\n"
      "against the fastest in arrival order. Medians of %lld alternating steps; wait: mean over ranks.\n",
      static_cast<long long>(setting.num_steps));
  print_order(setting, judge_order(rows));
  std::printf("losses agree: largest relative difference %.2g, allowed %.2g\n", setting.loss_spread,
              setting.loss_tolerance);
  if (!setting.is_wall) return;
  const auto [least, most] = replay_range(rows);
  std::printf("replay / wall: %.3f to %.3f (%s 5 %%)\n", least, most,
              least >= 0.95 && most <= 1.05 ? "within" : "NOT within");
}

std::string rows_to_json(const CpSetting& setting, const std::vector<CpRow>& rows) {
  const CpOrder order = judge_order(rows);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CpRow& row : rows) {
    nlohmann::ordered_json json{{"planner", row.planner},
                                {"cp_size", nullptr},
                                {"kind", row.kind},
                                {"step_ms", row.step_ms},
                                {"spread", row.spread},
                                {"simulated_ms", row.simulated_ms},
                                {"simulated_over_measured", row.simulated_over_measured},
                                {"makespan_over_measured", row.makespan_over_measured},
                                {"tokens_per_s", row.tokens_per_s},
                                {"exposed_wait_ms", row.exposed_wait_ms},
                                {"rank_max_over_mean", row.max_over_mean},
                                {"makespan_over_bound", row.makespan_over_bound},
                                {"loss", row.loss},
                                {"ratio_to_best_static", nullptr},
                                {"ratio_to_best_arrival_order", nullptr},
                                {"cp_sizes", row.cp_text},
                                {"smallest_that_fits", row.is_smallest_that_fits}};
    if (row.cp > 0) json["cp_size"] = row.cp;
    if (row.ratio_to_best_static > 0) json["ratio_to_best_static"] = row.ratio_to_best_static;
    if (row.ratio_to_best_plain > 0) json["ratio_to_best_arrival_order"] = row.ratio_to_best_plain;
    if (setting.is_wall) json["replay_over_wall"] = row.replay_over_wall;
    list.push_back(json);
  }
  return nlohmann::ordered_json{{"bench", "cp"},
                                {"ranks", setting.ranks},
                                {"cores", setting.cores},
                                {"memory_per_rank", setting.memory_per_rank},
                                {"tokens_per_rank", setting.tokens_per_rank},
                                {"precision", setting.precision},
                                {"steps", setting.num_steps},
                                {"link_hides_tokens", setting.link_hides},
                                {"link_bytes_per_s", setting.link.bytes_per_second},
                                {"link_latency_us", double(setting.link.latency_ns) / 1e3},
                                {"attention_flops", setting.attention_flops},
                                {"cost", setting.cost_source},
                                {"optimizer_ms", 1e-6 * setting.optimizer_ns},
                                {"order_pairs", order.pairs},
                                {"order_right", order.right},
                                {"loss_spread", setting.loss_spread},
                                {"loss_tolerance", setting.loss_tolerance},
                                {"rows", list}}
      .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace zoetrope
