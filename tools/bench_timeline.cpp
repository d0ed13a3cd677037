#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/bench_cp.h"

namespace zoetrope {
namespace {

constexpr double kWidth = 1000, kLane = 18, kGap = 4, kLeft = 70;

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), pattern, arguments...);
  return text.data();
}

/// Compute in one of a few hues per wave, waits red, collectives grey.
std::string colour_of(const ReplaySpan& span) {
  constexpr const char* kWaves[] = {"#2a6f97", "#468faf", "#61a5c2", "#89c2d9"};
  if (span.kind == ReplaySpan::kWait) return "#d1495b";
  if (span.kind == ReplaySpan::kCollective) return "#b8b8b8";
  return kWaves[size_t(std::max<int64_t>(0, span.label)) % std::size(kWaves)];
}

const char* name_of(ReplaySpan::Kind kind) {
  switch (kind) {
    case ReplaySpan::kCompute: return "compute";
    case ReplaySpan::kWait: return "waits for a transfer";
    case ReplaySpan::kCollective: return "waits for all ranks";
  }
  return "";
}

std::string chart(const ReplayResult& result, double total_ns) {
  const double height = double(result.spans.size()) * (kLane + kGap);
  std::string svg =
      format("<svg viewBox='0 0 %.0f %.0f' width='100%%' role='img'>\n", kLeft + kWidth, height);
  for (size_t rank = 0; rank < result.spans.size(); ++rank) {
    const double y = double(rank) * (kLane + kGap);
    svg += format("<text x='0' y='%.1f' font-size='12'>rank %zu</text>\n", y + 13, rank);
    for (const ReplaySpan& span : result.spans[rank]) {
      const double x = double(span.begin_ns) / total_ns * kWidth;
      const double width = double(span.end_ns - span.begin_ns) / total_ns * kWidth;
      if (width < 0.05) continue;  // thinner than a twentieth of a pixel
      svg += format(
          "<rect x='%.2f' y='%.1f' width='%.2f' height='%.0f' fill='%s'><title>%s, %.2f ms, wave %lld"
          "</title></rect>\n",
          kLeft + x, y, width, kLane, colour_of(span).c_str(), name_of(span.kind),
          double(span.end_ns - span.begin_ns) / 1e6, static_cast<long long>(span.label));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string timeline_html(const std::vector<CpEntry>& entries, const std::vector<CpMeasurement>& measured) {
  int64_t longest = 1;
  for (const CpMeasurement& m : measured) longest = std::max(longest, m.timeline.total_ns);
  std::string html =
      "<!doctype html><html lang='en'><meta charset='utf-8'><title>Planners, rank by rank</title>\n"
      "<style>body{font:14px sans-serif;max-width:1100px;margin:2em "
      "auto;color:#222}h2{font-size:15px;margin:1.4em 0 "
      ".3em}.k{display:inline-block;width:1em;height:1em;vertical-align:-2px;margin:0 .3em 0 1em}</style>\n"
      "<h1>One step of the same batch under each planner</h1>\n"
      "<p>Every rank's pieces, timed by its CPU clock, on a processor of its own. All charts have the same "
      "scale."
      "<span class='k' style='background:#2a6f97'></span>compute, a shade per wave"
      "<span class='k' style='background:#d1495b'></span>waits for a ring transfer"
      "<span class='k' style='background:#b8b8b8'></span>waits for all ranks</p>\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    const ReplayResult& result = measured[i].timeline;
    html += format(
        "<h2>%s%s: %.1f ms, max/mean %.3f</h2>\n", entries[i].planner.c_str(),
        entries[i].is_static() ? format(", CP %lld", static_cast<long long>(entries[i].cp)).c_str() : "",
        double(result.total_ns) / 1e6, result.max_over_mean());
    html += chart(result, double(longest));
  }
  return html + "</html>\n";
}

}  // namespace zoetrope
