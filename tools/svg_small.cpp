#include "tools/svg_small.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/svg.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr double kWide = 360, kLeft = 40, kPlot = kWide - kLeft - 12, kTop = 10, kHigh = 112;

std::string number_text(double value) {
  const bool is_whole = value == std::floor(value) || std::abs(value) >= 1e4;
  return is_whole && std::abs(value) < 1e15 ? with_commas(int64_t(value)) : format_text("%.4g", value);
}

std::string with_unit(double value, const std::string& unit) {
  return number_text(value) + (unit.empty() ? "" : " " + unit);
}

std::string label(const char* style, double x, double y, const std::string& text) {
  return format_text("<text class=\"tick %s\" x=\"%.1f\" y=\"%.1f\">%s</text>", style, x, y,
                     escape_html(text).c_str());
}

/// 1, 2, 5, 10, 20, ... from at most `least` to beyond `most`.
std::vector<double> log_edges(double least, double most) {
  std::vector<double> edges;
  for (int power = int(std::floor(std::log10(least))); edges.empty() || edges.back() <= most; ++power)
    for (const double step : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) edges.push_back(step * std::pow(10.0, power));
  while (edges.size() > 2 && edges[1] <= least) edges.erase(edges.begin());
  while (edges.size() > 2 && edges[edges.size() - 2] > most) edges.pop_back();
  return edges;
}

std::vector<double> even_edges(double least, double most, bool whole) {
  constexpr int kClasses = 20;
  double step = 1;
  if (most > least) {
    const std::vector<double> ticks = round_ticks(0, most - least, kClasses);
    step = ticks.size() > 1 ? ticks[1] : most - least;
  } else if (least != 0) {
    step = std::abs(least) / 10;
  }
  if (whole) step = std::max(1.0, std::ceil(step));
  const double first = std::floor(least / step + 1e-9);
  std::vector<double> edges{first * step};
  // Multiples, not sums: edges stay round.
  for (double i = first + 1; edges.size() < 2 || edges.back() <= most * (1 + 1e-12); ++i)
    edges.push_back(i * step);
  return edges;
}

/// What class i holds: "12 to 15 frames", "1.5 to 2 s".
std::string class_text(const ValueClasses& classes, size_t i, bool whole, const std::string& unit) {
  const double begin = classes.edges[i], end = classes.edges[i + 1];
  if (!whole) return number_text(begin) + " to " + with_unit(end, unit);
  const double last = std::ceil(end) - 1, first = std::ceil(begin);
  return first >= last ? with_unit(first, unit) : number_text(first) + " to " + with_unit(last, unit);
}

std::string count_axis(int64_t most, double scale) {
  std::string svg;
  for (const double tick : round_ticks(0, double(most), 3)) {
    if (tick != std::floor(tick)) continue;
    const double y = kTop + kHigh - scale * tick;
    svg += format_text("<path class=\"grid\" d=\"M%.0f %.1fh%.0f\"/>", kLeft, y, kPlot) +
           label("end", kLeft - 5, y + 4, number_text(tick));
  }
  return svg;
}

/// Labels below the axis at round values, none over another.
std::string value_axis(const ValueClasses& classes, const std::string& unit) {
  const double begin = classes.edges.front(), end = classes.edges.back();
  const auto along = [&](double value) { return classes.logarithmic ? std::log(value) : value; };
  const auto x_of = [&](double value) {
    return kLeft + kPlot * (along(value) - along(begin)) / (along(end) - along(begin));
  };
  std::vector<double> ticks = round_ticks(begin, end, 5);
  if (classes.logarithmic) ticks = classes.edges;
  std::string svg;
  double free_from = 0;
  for (const double tick : ticks) {
    const std::string text = number_text(tick);
    const double half = 3.4 * double(text.size());
    const double x = std::clamp(x_of(tick), half, kWide - half);
    if (x - half < free_from) continue;
    free_from = x + half + 8;
    svg += label("mid", x, kTop + kHigh + 15, text);
  }
  return svg + label("mid", kLeft + kPlot / 2, kTop + kHigh + 30, unit);
}

}  // namespace

ValueClasses classify(const std::vector<double>& values, bool whole) {
  ValueClasses out;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (values.empty()) return out;
  out.logarithmic = *least > 0 && *most / *least > 30;
  out.edges = out.logarithmic ? log_edges(*least, *most) : even_edges(*least, *most, whole);
  out.counts.assign(out.edges.size() - 1, 0);
  for (const double value : values) {
    const auto above = std::upper_bound(out.edges.begin() + 1, out.edges.end() - 1, value);
    ++out.counts[size_t(above - out.edges.begin()) - 1];
  }
  return out;
}

std::string small_histogram_svg(const std::vector<double>& values, bool whole, const std::string& unit,
                                const std::string& what) {
  const ValueClasses classes = classify(values, whole);
  if (classes.counts.empty()) return "";
  const int64_t most = *std::max_element(classes.counts.begin(), classes.counts.end());
  const double scale = kHigh / (double(most) * 1.04);
  const auto along = [&](double value) { return classes.logarithmic ? std::log(value) : value; };
  const double begin = along(classes.edges.front()), range = along(classes.edges.back()) - begin;
  std::string svg = format_text("<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWide,
                                kTop + kHigh + 36) +
                    count_axis(most, scale);
  for (size_t i = 0; i < classes.counts.size(); ++i) {
    if (classes.counts[i] == 0) continue;
    const double left = kLeft + kPlot * (along(classes.edges[i]) - begin) / range;
    const double right = kLeft + kPlot * (along(classes.edges[i + 1]) - begin) / range;
    const double high = std::max(1.0, scale * double(classes.counts[i]));
    const double gap = std::min(1.5, (right - left) * 0.15);
    svg += format_text(
        "<rect class=\"s0\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s: %s %s, %.1f "
        "%%</title></rect>\n",
        left + gap / 2, kTop + kHigh - high, right - left - gap, high,
        escape_html(class_text(classes, i, whole, unit)).c_str(), with_commas(classes.counts[i]).c_str(),
        escape_html(what).c_str(), 100 * double(classes.counts[i]) / double(values.size()));
  }
  return svg + value_axis(classes, unit) + "</svg>\n";
}

std::string spread_text(std::vector<double> values, const std::string& unit) {
  if (values.empty()) return "";
  std::sort(values.begin(), values.end());
  const double middle = values[values.size() / 2];
  if (number_text(values.front()) == number_text(values.back())) return "all " + with_unit(middle, unit);
  return number_text(values.front()) + " to " + with_unit(values.back(), unit) + ", median " +
         with_unit(middle, unit);
}

std::vector<std::pair<std::string, int64_t>> most_common(const std::vector<std::string>& names, size_t most) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : names) ++counts[name];
  std::vector<std::pair<std::string, int64_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (out.size() <= most) return out;
  std::pair<std::string, int64_t> others{with_commas(int64_t(out.size() - most + 1)) + " others", 0};
  for (size_t i = most - 1; i < out.size(); ++i) others.second += out[i].second;
  out.resize(most - 1);
  out.push_back(others);
  return out;
}

std::string category_bars_svg(const std::vector<std::pair<std::string, int64_t>>& bars,
                              const std::string& what) {
  constexpr double kPitch = 18, kNames = 130, kNumbers = 48;
  constexpr size_t kMostLetters = 17;
  int64_t most = 1, all = 0;
  for (const auto& [name, count] : bars) most = std::max(most, count), all += count;
  std::string svg = format_text("<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWide,
                                6 + kPitch * double(std::max<size_t>(bars.size(), 4)));
  for (size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, count] = bars[i];
    const double y = 4 + kPitch * double(i);
    const double wide = std::max(1.5, (kWide - kNames - kNumbers) * double(count) / double(most));
    svg += label("end", kNames - 6, y + 12,
                 name.size() <= kMostLetters ? name : name.substr(0, kMostLetters - 3) + "...");
    svg += format_text(
        "<rect class=\"s0\" x=\"%.0f\" y=\"%.1f\" width=\"%.2f\" height=\"12\"><title>%s: %s %s, %.1f "
        "%%</title></rect>",
        kNames, y + 2, wide, escape_html(name).c_str(), with_commas(count).c_str(), escape_html(what).c_str(),
        100 * double(count) / double(std::max<int64_t>(1, all)));
    svg += label("", kNames + wide + 6, y + 12, with_commas(count)) + "\n";
  }
  return svg + "</svg>\n";
}

}  // namespace zoetrope
