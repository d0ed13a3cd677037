#include "schedule/trace.h"

#include <charconv>
#include <cmath>

#include "core/check.h"
#include "schedule/trace_parts.h"

namespace zoetrope {
namespace {

constexpr const char kLognormal[] = "lognormal:";

/// What there is, a line each.
std::string list_of_traces() {
  std::string list;
  for (const Trace& trace : built_in_traces())
    list += join_message("\n  ", trace.name, std::string(12 - std::min<size_t>(11, trace.name.size()), ' '),
                         trace.what, " (", trace.source, ")");
  return list +
         "\n  lognormal:MEAN:SIGMA:LO:HI  lognormal of that mean and sigma, clipped to LO to HI tokens";
}

template <class Number>
bool read_all(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

Trace parse_lognormal(const std::string& name) {
  std::vector<std::string> fields(1);
  for (char c : name.substr(sizeof kLognormal - 1)) {
    if (c == ':') fields.emplace_back();
    else fields.back() += c;
  }
  constexpr int64_t kMost = int64_t(1) << 31;  // squares of lengths still fit
  double mean = 0, sigma = 0;
  int64_t low = 0, high = 0;
  const bool is_read = fields.size() == 4 && read_all(fields[0], mean) && read_all(fields[1], sigma) &&
                       read_all(fields[2], low) && read_all(fields[3], high);
  const bool is_possible = mean > 0 && mean <= double(kMost) && sigma >= 0 && sigma <= 10 && low >= 1 &&
                           low <= high && high <= kMost;  // false for NaN too
  if (!is_read || !is_possible)
    throw UsageError(join_message("trace '", name,
                                  "': expected lognormal:MEAN:SIGMA:LO:HI with MEAN above 0, "
                                  "SIGMA from 0 to 10 and whole numbers 1 <= LO <= HI <= ",
                                  kMost, ", as in lognormal:2048:1.6:64:131072; there are",
                                  list_of_traces()));
  return lognormal_trace(name, mean, sigma, low, high);
}

}  // namespace

double TraceDraws::uniform() {
  const auto words = key_.words(next_++);
  const uint64_t bits = (uint64_t(words[0]) << 32 | words[1]) >> 12;
  return (double(bits) + 0.5) * 0x1p-52;
}

double TraceDraws::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

int64_t TraceDraws::integer(int64_t low, int64_t high) {
  return low + int64_t(uniform() * double(high - low + 1));
}

int64_t pick_cell(const std::vector<TraceCell>& cells, double uniform) {
  double total = 0, sum = 0;
  for (const TraceCell& cell : cells) total += cell.weight;
  for (const TraceCell& cell : cells) {
    sum += cell.weight;
    if (uniform * total < sum) return cell.tokens;
  }
  return cells.back().tokens;
}

double draw_lognormal(TraceDraws& draws, double mean, double sigma) {
  return std::exp(std::log(mean) - sigma * sigma / 2 + sigma * draws.normal());
}

const std::vector<Trace>& built_in_traces() {
  static const std::vector<Trace> traces = [] {
    std::vector<Trace> all;
    for (int number = 1; number <= 10; ++number)
      for (const auto& part : {video_traces(), text_traces()})
        for (const Trace& trace : part)
          if (trace.name == "t" + std::to_string(number)) all.push_back(trace);
    for (const Trace& trace : video_traces())
      if (trace.name == "t10-stage1" || trace.name == "video-mix") all.push_back(trace);
    return all;
  }();
  return traces;
}

Trace find_trace(const std::string& name) {
  for (const Trace& trace : built_in_traces())
    if (trace.name == name) return trace;
  if (name.starts_with(kLognormal)) return parse_lognormal(name);
  throw UsageError(join_message("trace '", name, "' is unknown; there are", list_of_traces()));
}

std::vector<int64_t> trace_lengths(const Trace& trace, uint64_t seed, int64_t first, int64_t count) {
  std::vector<int64_t> lengths(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) lengths[size_t(i)] = trace.tokens(seed, first + i);
  return lengths;
}

}  // namespace zoetrope
