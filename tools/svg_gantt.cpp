// Ranks over time.
#include <algorithm>
#include <map>

#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr double kLeft = 84, kWidth = 1000, kRight = 16, kAxis = 22, kTop = 14;
constexpr size_t kMostTitled = 4000;  // spans with a tooltip each: about 600 kB of text

double lane_height(size_t num_lanes) {
  return num_lanes <= 10 ? 20 : num_lanes <= 20 ? 15 : num_lanes <= 40 ? 10 : 7;
}

/// A rectangle's outline in a path.
std::string box(double x, double y, double width, double height) {
  return format_text("M%.1f %.1fh%.2fv%.1fh%.2fz", x, y, width, height, -width);
}

std::string time_axis(int64_t scale_ns, double bottom) {
  std::string svg;
  for (double tick : round_ticks(0, double(scale_ns), 8)) {
    const double x = kLeft + kWidth * tick / double(scale_ns);
    svg += format_text("<path class=\"grid\" d=\"M%.1f %.0fV%.1f\"/>", x, kTop, bottom);
    svg += format_text("<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, bottom + 15,
                       time_label(tick, double(scale_ns)).c_str());
  }
  return svg;
}

/// Where the lanes lie: their upper edges, and the lower edge of the last.
std::vector<double> upper_edges(const std::vector<GanttLane>& lanes, double height) {
  std::vector<double> edges;
  double y = kTop;
  for (const GanttLane& lane : lanes) {
    if (lane.gap_before) y += 8;
    edges.push_back(y);
    y += height + (height > 8 ? 3 : 1);
  }
  edges.push_back(y);
  return edges;
}

/// Names where there is room: every fourth of thin lanes, those of a lane set apart and what follows it more
/// often.
std::string lane_names(const std::vector<GanttLane>& lanes, const std::vector<double>& edges, double height) {
  constexpr double kText = 12;
  double room = height > 8 ? kText : 4 * (height + 1), below = 0;
  std::string svg;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].gap_before) room = kText;
    const double y = edges[i] + height / 2 + 4;
    if (below > 0 && y - below < room) continue;
    below = y;
    svg += format_text("<text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">%s</text>\n", kLeft - 6, y,
                       escape_html(lanes[i].name).c_str());
  }
  return svg;
}

/// A span as it is drawn, in pixels.
struct Drawn {
  double x = 0, width = 0;
  const GanttSpan* span = nullptr;  ///< its colour and name
  double ns = 0;
};

/// Adds what a run of narrow spans takes, each colour once, in the order in which they come first: the areas
/// stay, the places are off by less than the run.
void add_run(const std::vector<Drawn>& run, std::vector<Drawn>& out) {
  std::vector<Drawn> parts;
  for (const Drawn& each : run) {
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const Drawn& other) { return other.span->style == each.span->style; });
    if (part == parts.end()) part = parts.insert(part, {0, 0, each.span, 0});
    part->width += each.width, part->ns += each.ns;
  }
  double x = run.empty() ? 0 : run.front().x;
  for (Drawn& part : parts) {
    part.x = x, x += part.width;
    out.push_back(part);
  }
}

/// Spans of a lane; neighbours too narrow to be seen apart are put together.
std::vector<Drawn> drawn_spans(const GanttLane& lane, double scale) {
  constexpr double kNarrow = 1.5, kLongestRun = 4;
  std::vector<Drawn> out, run;
  double run_width = 0;
  for (const GanttSpan& span : lane.spans) {
    const double ns = double(span.end_ns - span.begin_ns);
    const Drawn drawn{kLeft + kWidth * double(span.begin_ns) / scale, kWidth * ns / scale, &span, ns};
    const bool narrow = drawn.width < kNarrow;
    const bool apart = !run.empty() && drawn.x > run.back().x + run.back().width + 0.01;
    if (!narrow || apart || run_width + drawn.width > kLongestRun) {
      add_run(run, out);
      run.clear(), run_width = 0;
    }
    if (narrow) run.push_back(drawn), run_width += drawn.width;
    else out.push_back(drawn);
  }
  add_run(run, out);
  return out;
}

std::string titled(const Drawn& drawn, const std::string& lane, double y, double height) {
  const GanttSpan& span = *drawn.span;
  const std::string wave = span.wave < 0 ? "" : format_text(", wave %lld", static_cast<long long>(span.wave));
  return format_text(
      "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\"><title>%s: %s%s, %.3f "
      "ms</title></rect>\n",
      span.style.c_str(), drawn.x, y, drawn.width, height, escape_html(lane).c_str(), span.what, wave.c_str(),
      drawn.ns / 1e6);
}

std::string spans_svg(const std::vector<GanttLane>& lanes, const std::vector<double>& edges, double height,
                      double scale) {
  constexpr double kThinnest = 0.05;  // of a pixel: not seen
  size_t count = 0;
  std::vector<std::vector<Drawn>> drawn;
  std::string svg, ground;
  for (size_t i = 0; i < lanes.size(); ++i) {
    drawn.push_back(drawn_spans(lanes[i], scale));
    count += drawn.back().size();
    if (drawn[i].empty()) continue;
    const double begin = drawn[i].front().x;  // the ground keeps seams between neighbours dark
    ground += box(begin, edges[i], drawn[i].back().x + drawn[i].back().width - begin, height);
  }
  if (!ground.empty()) svg += "<path class=\"ground\" d=\"" + ground + "\"/>\n";
  std::map<std::string, std::string> paths;  // by class
  for (size_t i = 0; i < lanes.size(); ++i)
    for (const Drawn& each : drawn[i]) {
      if (each.width < kThinnest) continue;
      if (count <= kMostTitled) svg += titled(each, lanes[i].name, edges[i], height);
      else paths[each.span->style] += box(each.x, edges[i], each.width, height);
    }
  for (const auto& [style, path] : paths) svg += "<path class=\"" + style + "\" d=\"" + path + "\"/>\n";
  return svg;
}

}  // namespace

const char* wave_style(int64_t wave) {
  constexpr const char* kStyles[] = {"w0", "w1", "w2", "w3"};
  return kStyles[size_t(std::max<int64_t>(0, wave)) % std::size(kStyles)];
}

std::string gantt_svg(const std::vector<GanttLane>& lanes, int64_t scale_ns, int64_t bound_ns) {
  const double height = lane_height(lanes.size()), scale = double(std::max<int64_t>(1, scale_ns));
  const std::vector<double> edges = upper_edges(lanes, height);
  const double bottom = edges.back();
  std::string svg = format_text("<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
                                kLeft + kWidth + kRight, bottom + kAxis);
  svg += time_axis(std::max<int64_t>(1, scale_ns), bottom);
  svg += lane_names(lanes, edges, height);
  svg += spans_svg(lanes, edges, height, scale);
  if (bound_ns > 0) {
    const double x = kLeft + kWidth * double(bound_ns) / scale;
    svg += format_text("<path class=\"bound\" d=\"M%.1f %.0fV%.1f\"/>", x, kTop - 4, bottom);
    svg += format_text("<text class=\"tick end boundtext\" x=\"%.1f\" y=\"%.0f\">bound</text>\n", x - 3,
                       kTop - 4);
  }
  return svg + "</svg>\n";
}

}  // namespace zoetrope
