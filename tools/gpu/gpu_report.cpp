#include <nlohmann/json.hpp>

#include "tools/gpu/gpu_bench.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr double kGiB = double(1 << 30);

std::string verdict(double goal, bool misses) {
  return goal == 0 ? "" : format_text("%5.1f %% %s", 100 * goal, misses ? "MISSED" : "met");
}

std::string rate(const GpuRow& row) {
  const double seconds = row.timing.seconds;
  if (row.bound == Bound::kMatrix ||
      (row.work.flops > 0 && row.bound == Bound::kNone && row.group == "ceilings"))
    return format_text("%8.1f TF/s", row.work.flops / seconds * 1e-12);
  return format_text("%8.1f GB/s", row.work.bytes / seconds * 1e-9);
}

std::string line_of(const GpuRow& row) {
  const std::string share = row.share > 0 ? format_text("%5.1f %%", 100 * row.share) : "";
  return format_text("%-30s %-27s %10.4f %5.1f %13s %8s  %s\n", row.name.c_str(), row.shape.c_str(),
                     1e3 * row.timing.seconds, 100 * row.timing.spread, rate(row).c_str(), share.c_str(),
                     verdict(row.goal, row.misses()).c_str());
}

std::string line_of(const StepFigures& s) {
  std::string text =
      format_text("%-30s %9.1f ms +-%4.1f %% %10.0f tokens/s %7.1f TF/s  MFU %5.1f %%  %s\n", s.name.c_str(),
                  1e3 * s.seconds, 50 * s.spread, s.tokens_per_second(), s.flops / s.seconds * 1e-12,
                  100 * s.mfu(), verdict(s.goal, s.misses()).c_str());
  text += format_text(
      "    %.1f M parameters; memory: model %.3f GiB, used %.3f GiB, taken from the driver %.3f GiB%s%s\n",
      double(s.parameters) / 1e6, double(s.predicted_bytes) / kGiB, double(s.used_bytes) / kGiB,
      double(s.driver_bytes) / kGiB, s.how.empty() ? "" : "; ", s.how.c_str());
  return text;
}

nlohmann::ordered_json to_json(const GpuRow& row) {
  nlohmann::ordered_json json{{"group", row.group}, {"name", row.name}, {"shape", row.shape}};
  json["bytes"] = row.work.bytes;
  json["flops"] = row.work.flops;
  if (!row.left_out.empty()) {
    json["left_out"] = row.left_out;
    return json;
  }
  json["seconds"] = row.timing.seconds;
  json["spread"] = row.timing.spread;
  json["runs"] = row.timing.batches * row.timing.calls_per_batch;
  if (row.share > 0) {
    json["floor"] = row.bound == Bound::kMemory ? "copy bandwidth" : "matrix rate";
    json["share"] = row.share;
  }
  if (row.goal > 0) {
    json["goal"] = row.goal;
    json["met"] = !row.misses();
  }
  return json;
}

nlohmann::ordered_json to_json(const StepFigures& s) {
  nlohmann::ordered_json json{{"name", s.name}};
  if (!s.left_out.empty()) {
    json["left_out"] = s.left_out;
    return json;
  }
  json.update({{"how", s.how},
               {"parameters", s.parameters},
               {"tokens", s.tokens},
               {"samples", s.samples},
               {"seconds", s.seconds},
               {"spread", s.spread},
               {"tokens_per_second", s.tokens_per_second()},
               {"train_flops", s.flops},
               {"peak_flops_per_second", s.peak},
               {"mfu", s.mfu()},
               {"predicted_bytes", s.predicted_bytes},
               {"used_bytes", s.used_bytes},
               {"driver_bytes", s.driver_bytes}});
  if (s.goal > 0) {
    json["goal"] = s.goal;
    json["met"] = !s.misses();
  }
  return json;
}

std::string head_of(const GpuReport& r) {
  const double peak = data_sheet_rate(r.device.name);
  std::string text = format_text("%s, sm_%d%d, %d multiprocessors, %.1f GiB\n", r.device.name.c_str(),
                                 r.device.capability_major, r.device.capability_minor,
                                 r.device.multiprocessors, double(r.device.total_bytes) / kGiB);
  text += "before: " + r.clocks_before + "\nafter:  " + r.clocks_after + "\n";
  text += format_text("ceilings of this run: copy %.2f TB/s, bf16 products %.1f TF/s",
                      r.ceilings.copy * 1e-12, r.ceilings.matrix * 1e-12);
  text += peak > 0 ? format_text(" (%.1f %% of the data sheet's %.1f)", 100 * r.ceilings.matrix / peak,
                                 peak * 1e-12)
                   : std::string(" (no data sheet rate known: no MFU)");
  text += format_text("\na launch of nothing: %.2f us on the device, %.2f us on the host\n",
                      1e6 * r.ceilings.launch.device, 1e6 * r.ceilings.launch.host);
  return text;
}

}  // namespace

std::string gpu_report_table(const GpuReport& r) {
  std::string text = head_of(r), group;
  for (const GpuRow& row : r.rows) {
    if (!row.left_out.empty()) continue;
    if (row.group != group)
      text += format_text("\n%-30s %-27s %10s %5s %13s %8s  %s\n", row.group.c_str(), "", "ms", "+-%", "rate",
                          "of floor", "goal");
    group = row.group;
    text += line_of(row);
  }
  text += "\ntraining steps, bf16, full recompute, AdamW and EMA\n";
  for (const StepFigures& step : r.steps)
    if (step.left_out.empty()) text += line_of(step);
  text += format_text("\n%lld goals missed, %lld lines left out, %.0f s\n", (long long)r.num_missed(),
                      (long long)r.num_left_out(), r.seconds);
  for (const GpuRow& row : r.rows)
    if (!row.left_out.empty())
      text += "  left out: " + row.name + " " + row.shape + ": " + row.left_out + "\n";
  for (const StepFigures& step : r.steps)
    if (!step.left_out.empty()) text += "  left out: step of " + step.name + ": " + step.left_out + "\n";
  return text;
}

std::string gpu_report_json(const GpuReport& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(), steps = rows;
  for (const GpuRow& row : r.rows) rows.push_back(to_json(row));
  for (const StepFigures& step : r.steps) steps.push_back(to_json(step));
  const nlohmann::ordered_json all{
      {"bench", "gpu"},
      {"device",
       {{"name", r.device.name},
        {"capability", r.device.capability_major * 10 + r.device.capability_minor},
        {"multiprocessors", r.device.multiprocessors},
        {"total_bytes", r.device.total_bytes},
        {"clocks_before", r.clocks_before},
        {"clocks_after", r.clocks_after}}},
      {"ceilings",
       {{"copy_bytes_per_second", r.ceilings.copy},
        {"matrix_flops_per_second", r.ceilings.matrix},
        {"data_sheet_flops_per_second", data_sheet_rate(r.device.name)},
        {"launch_seconds_device", r.ceilings.launch.device},
        {"launch_seconds_host", r.ceilings.launch.host}}},
      {"rows", rows},
      {"steps", steps},
      {"goals_missed", r.num_missed()},
      {"left_out", r.num_left_out()},
      {"seconds", r.seconds}};
  return all.dump(2);
}

}  // namespace zoetrope
