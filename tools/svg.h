// Charts as SVG for reports in HTML: rank by rank over time, bars, histograms, lines. Colours are classes of
// the page's style sheet (html_page.h), so that charts follow light and dark mode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Text with <, >, &, " and ' escaped.
std::string escape_html(const std::string& text);

/// A piece of a lane. Classes of compute: "w0" to "w3", a shade per wave; of waits: "wait", "transfer",
/// "sum".
struct GanttSpan {
  int64_t begin_ns = 0, end_ns = 0;
  std::string style = "w0";
  const char* what = "compute";
  int64_t wave = -1;
};
/// The class of wave `wave`.
const char* wave_style(int64_t wave);

/// A row of the chart.
struct GanttLane {
  std::string name;
  std::vector<GanttSpan> spans;
  bool gap_before = false;  ///< set apart from the lanes above
};

/// Lanes over time from 0 to `scale_ns`, a line at `bound_ns` when it isn't 0. Few spans have a tooltip each,
/// many are drawn as one path per colour.
std::string gantt_svg(const std::vector<GanttLane>& lanes, int64_t scale_ns, int64_t bound_ns = 0);

/// Bars side by side, under a line named `cap_name` at `cap`, `whose` below them; more than fit are shown by
/// the largest of each group of neighbours.
std::string bars_svg(const std::vector<double>& values, double cap, const std::string& cap_name,
                     const std::string& whose);

/// Two series of shares in percent over bins that grow by a factor: [edges[i], edges[i + 1]).
struct Histogram {
  std::vector<double> edges, first, second;
  std::string first_name, second_name;
  double mark = 0;  ///< a line there; 0: none
  std::string mark_name;
};
/// Bars of both series side by side, the x axis logarithmic.
std::string histogram_svg(const Histogram& histogram);

/// A line of a chart; points by ascending x.
struct LineSeries {
  std::string name;
  std::vector<double> x, y;
};
/// What is drawn around lines.
struct LineChart {
  std::string x_name, y_name;
  bool log_x = false;
  double least_y = 0;  ///< the axis begins at most here
  std::vector<LineSeries> series;
};
/// Lines with dots, their names at their ends.
std::string lines_svg(const LineChart& chart);

/// About `count` round numbers from 0 or `least` to `most`: 1, 2 or 5 times a power of ten apart.
std::vector<double> round_ticks(double least, double most, int count);
/// "1.5 s", "320 ms", "40 µs" for a tick; one unit for all ticks up to `most_ns`.
std::string time_label(double ns, double most_ns);

}  // namespace zoetrope
