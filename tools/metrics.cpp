#include "tools/metrics.h"

#include <sys/resource.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string join(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text.empty() ? "-" : text;
}

/// Complete lines of the old file up to the step that the run goes on from.
std::string kept_lines(const std::string& path, int64_t resumed_step) {
  std::istringstream old(read_file(path));
  std::string kept;
  for (std::string line; std::getline(old, line);) {
    if (old.eof()) break;  // no newline at its end: torn by a crash
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_object() && entry.value("step", int64_t(0)) <= resumed_step && entry.contains("step"))
      kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::string to_json_line(const StepMetrics& m) {
  nlohmann::ordered_json line;
  line["step"] = m.step;
  line["loss"] = m.loss;
  line["grad_norm"] = m.grad_norm;
  line["lr"] = m.learning_rate;
  line["step_ms"] = m.step_ms;
  line["tokens"] = m.tokens;
  line["tokens_per_s"] = m.tokens_per_s;
  line["gemm_share"] = m.gemm_share ? nlohmann::ordered_json(*m.gemm_share) : nlohmann::ordered_json();
  line["makespan_over_bound"] = m.makespan_over_bound;
  line["rank_max_over_mean"] = m.rank_max_over_mean;
  line["cp_sizes"] = m.cp_sizes;
  line["peak_bytes"] = m.peak_bytes;
  line["predicted_peak_bytes"] = m.predicted_peak_bytes;
  line["rss_bytes"] = m.rss_bytes;
  line["exposed_wait_ms"] = m.exposed_wait_ms;
  line["plan_ms"] = m.plan_ms;
  return line.dump();
}

std::string bytes_text(int64_t bytes) {
  const char* units[] = {"B", "K", "M", "G", "T"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return format(unit == 0 ? "%.0f" : "%.2f", value) + units[unit];
}

std::string to_text_line(const StepMetrics& m, int64_t last_step, double seconds_left) {
  const int64_t left = int64_t(std::ceil(seconds_left));
  std::string eta =
      std::to_string(left / 60) + "m" + (left % 60 < 10 ? "0" : "") + std::to_string(left % 60) + "s";
  return "step " + std::to_string(m.step) + "/" + std::to_string(last_step) + "  loss " +
         format("%.4f", m.loss) + "  grad " + format("%.3f", m.grad_norm) + "  lr " +
         format("%.2e", m.learning_rate) + "  " + format("%.0f", m.step_ms) + " ms  " +
         format("%.0f", m.tokens_per_s) + " tok/s  gemm " +
         (m.gemm_share ? format("%.0f%%", 100 * *m.gemm_share) : std::string("-")) + "  plan/bound " +
         format("%.3f", m.makespan_over_bound) + "  max/mean " + format("%.2f", m.rank_max_over_mean) +
         "  cp " + join(m.cp_sizes) + "  peak " + bytes_text(m.peak_bytes) + "  eta " + eta;
}

int64_t resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

MetricsWriter::MetricsWriter(const std::string& run, int64_t resumed_step)
    : path_(run + "/metrics.jsonl"), file_(nullptr, &std::fclose), tensorboard_(run + "/tensorboard") {
  if (std::filesystem::exists(path_)) write_file_atomically(path_, kept_lines(path_, resumed_step));
  file_.reset(std::fopen(path_.c_str(), "ab"));
  ZT_REQUIRE(file_, "can't open '", path_, "': ", std::strerror(errno));
}

void MetricsWriter::write(const StepMetrics& m) {
  const std::string line = to_json_line(m) + "\n";
  const bool written =
      std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  ZT_REQUIRE(written, "can't write '", path_, "': ", std::strerror(errno));
  tensorboard_.scalar("loss", m.step, m.loss);
  tensorboard_.scalar("grad_norm", m.step, m.grad_norm);
  tensorboard_.scalar("lr", m.step, m.learning_rate);
  tensorboard_.scalar("tokens_per_s", m.step, m.tokens_per_s);
  tensorboard_.scalar("makespan_over_bound", m.step, m.makespan_over_bound);
  tensorboard_.scalar("rank_max_over_mean", m.step, m.rank_max_over_mean);
  if (m.gemm_share) tensorboard_.scalar("gemm_share", m.step, *m.gemm_share);
}

}  // namespace zoetrope
