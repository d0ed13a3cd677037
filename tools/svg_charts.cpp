// Bars, histograms and lines.
#include <algorithm>
#include <cmath>

#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr double kLeft = 84, kWidth = 1000, kRight = 16;

std::string open_svg(double height) {
  return format_text("<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
                     kLeft + kWidth + kRight, height);
}

std::string text_at(const char* style, double x, double y, const std::string& text) {
  return format_text("<text class=\"tick %s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", style, x, y,
                     escape_html(text).c_str());
}

/// "0.5", "1,200".
std::string tick_number(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? with_commas(int64_t(value))
                                                              : format_text("%.6g", value);
}

/// Grid lines and labels of the y axis; `height_of` maps a value to its y.
template <class Map>
std::string y_axis(const std::vector<double>& ticks, const Map& height_of, const char* suffix,
                   double width = kWidth) {
  std::string svg;
  for (double tick : ticks) {
    const double y = height_of(tick);
    svg += format_text("<path class=\"grid\" d=\"M%.0f %.1fh%.0f\"/>", kLeft, y, width);
    svg += text_at("end", kLeft - 6, y + 4, tick_number(tick) + suffix);
  }
  return svg;
}

}  // namespace

std::string bars_svg(const std::vector<double>& values, double cap, const std::string& cap_name,
                     const std::string& whose) {
  constexpr double kTop = 14, kHeight = 84;
  constexpr size_t kMostBars = 250;  // 4 pixels each
  const size_t group = std::max<size_t>(1, (values.size() + kMostBars - 1) / kMostBars);
  const size_t num_bars = (values.size() + group - 1) / group;
  double most = cap > 0 ? cap : 1;
  for (double value : values) most = std::max(most, value);
  const double scale = kHeight / (most * 1.08), bottom = kTop + kHeight;
  std::string svg = open_svg(bottom + 20);
  svg += y_axis(
      round_ticks(0, most, 4), [&](double value) { return bottom - scale * value; }, "");
  const double pitch = kWidth / double(std::max<size_t>(1, num_bars)), gap = pitch > 8 ? 0.25 : 0.1;
  std::string within, above;
  for (size_t i = 0; i < num_bars; ++i) {
    const auto begin = values.begin() + int64_t(i * group);
    const double value =
        *std::max_element(begin, begin + int64_t(std::min(group, values.size() - i * group)));
    const double height = scale * value, width = pitch * (1 - gap);
    (cap > 0 && value > cap ? above : within) += format_text(
        "M%.2f %.1fv%.2fh%.2fv%.2fz", kLeft + pitch * (double(i) + gap / 2), bottom, -height, width, height);
  }
  if (!within.empty()) svg += "<path class=\"memory\" d=\"" + within + "\"/>\n";
  if (!above.empty()) svg += "<path class=\"wait\" d=\"" + above + "\"/>\n";
  if (cap > 0) {
    const double y = bottom - scale * cap;
    svg += format_text("<path class=\"cap\" d=\"M%.0f %.1fh%.0f\"/>", kLeft, y, kWidth);
    svg += text_at("end captext", kLeft + kWidth, y - 4, cap_name);
  }
  const std::string each = group == 1 ? "" : format_text("; a bar is the most of %zu", group);
  return svg + text_at("mid", kLeft + kWidth / 2, bottom + 15, whose + each) + "</svg>\n";
}

std::string histogram_svg(const Histogram& histogram) {
  constexpr double kTop = 26, kHeight = 190;
  const double bottom = kTop + kHeight, first_edge = std::log(histogram.edges.front());
  const double range = std::log(histogram.edges.back()) - first_edge;
  const auto x_of = [&](double value) { return kLeft + kWidth * (std::log(value) - first_edge) / range; };
  double most = 1;
  for (const auto* series : {&histogram.first, &histogram.second})
    for (double share : *series) most = std::max(most, share);
  const auto y_of = [&](double share) { return bottom - kHeight * share / (most * 1.05); };
  std::string svg = open_svg(bottom + 22) + y_axis(round_ticks(0, most, 5), y_of, " %");
  for (size_t i = 0; i < histogram.first.size(); ++i) {
    const double left = x_of(histogram.edges[i]), width = (x_of(histogram.edges[i + 1]) - left) * 0.44;
    const auto bar = [&](const char* style, double x, double share, const std::string& name) {
      if (share <= 0) return;
      svg += format_text(
          "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%.0f to %.0f "
          "tokens: %.2f %% of the %s</title></rect>\n",
          style, x, y_of(share), width, bottom - y_of(share), std::ceil(histogram.edges[i]),
          std::ceil(histogram.edges[i + 1]) - 1, share, escape_html(name).c_str());
    };
    bar("s0", left + width * 0.1, histogram.first[i], histogram.first_name);
    bar("s1", left + width * 1.15, histogram.second[i], histogram.second_name);
  }
  const int step = range > 6 * std::log(2.0) ? 1 : 0;  // octaves, or halves of them
  for (double tick = 1; tick <= histogram.edges.back() * 1.001; tick *= step == 1 ? 2 : std::sqrt(2.0))
    if (tick >= histogram.edges.front() * 0.999)
      svg += text_at("mid", x_of(tick), bottom + 15, tick_number(std::round(tick)));
  if (histogram.mark > histogram.edges.front() && histogram.mark < histogram.edges.back()) {
    const double x = x_of(histogram.mark);
    svg += format_text("<path class=\"cap\" d=\"M%.1f %.0fV%.0f\"/>", x, kTop - 8, bottom);
    svg += text_at("mid captext", std::clamp(x, kLeft + 60, kLeft + kWidth - 60), kTop - 12,
                   histogram.mark_name);
  }
  return svg + "</svg>\n";
}

std::string lines_svg(const LineChart& chart) {
  constexpr double kTop = 26, kHeight = 240, kNames = 130, kPlot = kWidth - kNames;
  const double bottom = kTop + kHeight;
  double least_x = INFINITY, most_x = -INFINITY, most_y = -INFINITY, least_y = chart.least_y;
  for (const LineSeries& series : chart.series)
    for (size_t i = 0; i < series.x.size(); ++i) {
      least_x = std::min(least_x, series.x[i]), most_x = std::max(most_x, series.x[i]);
      least_y = std::min(least_y, series.y[i]), most_y = std::max(most_y, series.y[i]);
    }
  if (!(most_y > least_y)) most_y = least_y + 1;
  const auto along = [&](double x) { return chart.log_x ? std::log(x) : x; };
  const double span_x = std::max(1e-9, along(most_x) - along(least_x));
  const auto x_of = [&](double x) { return kLeft + kPlot * (along(x) - along(least_x)) / span_x; };
  const auto y_of = [&](double y) { return bottom - kHeight * (y - least_y) / ((most_y - least_y) * 1.04); };
  std::string svg = open_svg(bottom + 40) + y_axis(round_ticks(least_y, most_y, 6), y_of, "", kPlot);
  svg += text_at("", 4, 14, chart.y_name) + text_at("mid", kLeft + kPlot / 2, bottom + 33, chart.x_name);
  std::vector<double> ticks = round_ticks(least_x, most_x, 10);
  if (chart.log_x) {
    ticks.clear();
    for (double tick = 1; tick <= most_x * 1.001; tick *= 2)
      if (tick >= least_x * 0.999) ticks.push_back(tick);
  }
  for (double tick : ticks) svg += text_at("mid", x_of(tick), bottom + 15, format_text("%.6g", tick));
  std::vector<std::pair<double, size_t>> ends;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const LineSeries& series = chart.series[s];
    if (series.x.empty()) continue;
    std::string path, dots;
    for (size_t i = 0; i < series.x.size(); ++i) {
      path += format_text("%c%.1f %.1f", i == 0 ? 'M' : 'L', x_of(series.x[i]), y_of(series.y[i]));
      dots += format_text(
          "<circle class=\"s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s, %.6g: %.4g</title></circle>\n",
          s % 6, x_of(series.x[i]), y_of(series.y[i]), escape_html(series.name).c_str(), series.x[i],
          series.y[i]);
    }
    svg += format_text("<path class=\"line l%zu\" d=\"%s\"/>\n", s % 6, path.c_str()) + dots;
    ends.emplace_back(y_of(series.y.back()), s);
  }
  std::sort(ends.begin(), ends.end());
  double below = kTop - 14;  // names at the lines' ends, none over another, none below the axis
  for (auto& [y, s] : ends) y = below = std::max(below + 14, y + 4);
  double above = bottom + 14 + 4;
  for (size_t i = ends.size(); i-- > 0;) ends[i].first = above = std::min(above - 14, ends[i].first);
  for (const auto& [y, s] : ends)
    svg += format_text("<text class=\"tick t%zu\" x=\"%.0f\" y=\"%.1f\">%s</text>\n", s % 6,
                       kLeft + kPlot + 10, y, escape_html(chart.series[s].name).c_str());
  return svg + "</svg>\n";
}

}  // namespace zoetrope
