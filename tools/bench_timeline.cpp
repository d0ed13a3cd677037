// bench cp --timeline: every rank's time in the replay of each planner's first batch.
#include <algorithm>

#include "tools/bench_cp.h"
#include "tools/html_page.h"
#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

GanttSpan drawn(const ReplaySpan& span) {
  GanttSpan out{span.begin_ns, span.end_ns, wave_style(span.label), "compute", span.label};
  if (span.kind == ReplaySpan::kWait) out.style = "wait", out.what = "waits for a transfer";
  if (span.kind == ReplaySpan::kCollective) out.style = "sum", out.what = "waits for all ranks";
  return out;
}

std::string chart(const ReplayResult& result, int64_t scale_ns) {
  std::vector<GanttLane> lanes;
  for (size_t rank = 0; rank < result.spans.size(); ++rank) {
    lanes.push_back({format_text("rank %zu", rank), {}});
    for (const ReplaySpan& span : result.spans[rank]) lanes.back().spans.push_back(drawn(span));
  }
  return gantt_svg(lanes, scale_ns);
}

}  // namespace

std::string timeline_html(const std::vector<CpEntry>& entries, const std::vector<CpMeasurement>& measured) {
  int64_t longest = 1;
  for (const CpMeasurement& m : measured) longest = std::max(longest, m.timeline.total_ns);
  std::string html =
      "<h1>One step of the same batch under each planner</h1>\n"
      "<p>Every rank's pieces, timed by its CPU clock, on a processor of its own. All charts have the same "
      "scale.</p>\n<p>" +
      html_key("w0", "compute, a shade per wave") + html_key("wait", "waits for a ring transfer") +
      html_key("sum", "waits for all ranks") + "</p>\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    const ReplayResult& result = measured[i].timeline;
    html += "<h3>" + escape_html(entries[i].planner) +
            (entries[i].is_static() ? format_text(", CP %lld", static_cast<long long>(entries[i].cp)) : "") +
            format_text(": %.1f ms, max/mean %.3f</h3>\n", double(result.total_ns) / 1e6,
                        result.max_over_mean()) +
            chart(result, longest);
  }
  return html_page("Planners, rank by rank", html);
}

}  // namespace zoetrope
