// Tables and length histogram of the page of `zoetrope plan`.
#include <algorithm>
#include <cmath>

#include "schedule/bound.h"
#include "tools/html_page.h"
#include "tools/plan_html.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

HtmlCell number(std::string text) { return {std::move(text), false, true}; }
HtmlCell whole(int64_t value) { return number(with_commas(value)); }

std::string milliseconds(int64_t ns) { return format_text("%.3f", double(ns) / 1e6); }

/// The makespan as a bar, the bound as a line at the same place in all rows.
HtmlCell bar(int64_t makespan, int64_t bound, int64_t most) {
  const double scale = 100.0 / double(std::max<int64_t>(1, most));
  return {format_text(
              "<svg viewBox=\"0 0 100 27\" preserveAspectRatio=\"none\"><rect class=\"s0\" x=\"0\" y=\"8\" "
              "width=\"%.2f\" height=\"11\"/><path class=\"bound\" vector-effect=\"non-scaling-stroke\" "
              "d=\"M%.2f 0V27\"/></svg>",
              double(makespan) * scale, double(bound) * scale),
          true};
}

/// Means over lanes of what is neither compute, sum of gradients nor optimizer, and the share of the peak.
void add_simulated(const Simulation& simulation, std::vector<HtmlCell>& row) {
  const double total = double(std::max<int64_t>(1, simulation.total_ns));
  row.push_back(number(percent(figure_of(simulation.exposed_ns).mean / total)));
  row.push_back(number(percent(figure_of(simulation.idle_ns).mean / total)));
  row.push_back(number(simulation.mfu > 0 ? percent(simulation.mfu) : "-"));
}

std::vector<HtmlCell> row_of(const PlanReport& report, int64_t most) {
  return {{report.planner},
          number(report.cp > 0 ? std::to_string(report.cp) : "any"),
          number(milliseconds(report.makespan.total_ns)),
          bar(report.makespan.total_ns, report.bound_ns, most),
          number(format_text("%.4f", report.ratio())),
          number(format_text("%.4f", report.efficiency())),
          number(format_text("%.3f", report.makespan.max_over_mean)),
          whole(int64_t(report.plan.waves.size())),
          whole(report.largest_ring),
          whole(report.split_samples),
          number(format_text("%.2f", report.moved)),
          number(format_text("%.3f", report.plan_milliseconds))};
}

const std::vector<std::string>& heading() {
  static const std::vector<std::string> names{
      "planner",      "CP",         "makespan ms", "against the bound",
      "ratio",        "efficiency", "max/mean",    "waves",
      "largest ring", "split",      "moved",       "plan ms"};
  return names;
}

std::string slower_sizes(const std::vector<PlanReport>& reports) {
  std::string html;
  for (const PlanReport& report : reports) {
    if (report.slower_cp.empty()) continue;
    html += "<p class=\"soft small\">" + escape_html(report.planner) + " was not planned at CP";
    for (int64_t cp : report.slower_cp) html += " " + std::to_string(cp);
    html += ": the work alone takes longer.</p>\n";
  }
  return html;
}

/// The static planners' other sizes.
std::string other_sizes(const std::vector<PlanReport>& reports, size_t num_shown) {
  if (reports.size() == num_shown) return slower_sizes(reports);
  int64_t most = 0;
  for (const PlanReport& report : reports) most = std::max(most, report.makespan.total_ns);
  std::vector<std::vector<HtmlCell>> rows;
  for (const PlanReport& report : reports)
    if (report.cp > 0) rows.push_back(row_of(report, most));
  return "<details><summary>static planners at every size that fits</summary>\n" +
         html_table(heading(), rows) + slower_sizes(reports) + "</details>\n";
}

/// Quarter octaves from the shortest to the longest.
std::vector<double> edges_between(int64_t shortest, int64_t longest) {
  constexpr double kPerOctave = 4;
  const double first = std::floor(std::log2(double(shortest)) * kPerOctave);
  const double last = std::floor(std::log2(double(longest)) * kPerOctave) + 1;
  std::vector<double> edges;
  for (double i = first; i <= last; ++i) edges.push_back(std::exp2(i / kPerOctave));
  return edges;
}

}  // namespace

std::string planner_table_html(const PlanPage& page, const std::vector<Simulation>& simulations) {
  const std::vector<const PlanReport*> reports = fastest_sizes(page.steps.front());
  int64_t most = 0;
  for (const PlanReport* report : reports) most = std::max(most, report->makespan.total_ns);
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < reports.size(); ++i) {
    rows.push_back(row_of(*reports[i], most));
    add_simulated(simulations[i], rows.back());
  }
  std::vector<std::string> names = heading();
  names.insert(names.end(), {"exposed", "idle", "MFU"});
  std::string html = page.steps.size() == 1 ? "<h2>Planners</h2>\n" : "<h2>Planners in the first step</h2>\n";
  html += html_table(names, rows, int(rows.size()) - 1);
  html += format_text(
      "<p class=\"soft small\">Lower bound on any plan: %s ms (dashed). Efficiency: compute alone, spread "
      "evenly, over makespan. Moved: (ring size - 1) x length over all tokens. Exposed and idle: mean "
      "share of a rank's step that waits for ring transfers, and for other ranks. MFU: useful FLOP "
      "over the peak.</p>\n",
      milliseconds(page.steps.front().back().bound_ns).c_str());
  html += other_sizes(page.steps.front(), reports.size());
  if (!page.failures.empty()) html += "<pre>" + escape_html(page.failures) + "</pre>\n";
  return html;
}

std::string steps_html(const PlanPage& page) {
  LineChart chart{"step", "makespan / bound", false, 1, {}};
  std::vector<std::vector<HtmlCell>> rows;
  for (const PlanReport* first : fastest_sizes(page.steps.front())) {
    LineSeries series{first->planner, {}, {}};
    int64_t makespan = 0, bound = 0, ideal = 0;
    for (size_t i = 0; i < page.steps.size(); ++i)
      for (const PlanReport* report : fastest_sizes(page.steps[i])) {
        if (report->planner != first->planner) continue;
        makespan += report->makespan.total_ns, bound += report->bound_ns, ideal += report->ideal_ns;
        series.x.push_back(double(page.first_step + int64_t(i)));
        series.y.push_back(report->ratio());
      }
    rows.push_back({{first->planner},
                    whole(int64_t(series.x.size())),
                    number(milliseconds(makespan)),
                    number(milliseconds(bound)),
                    number(format_text("%.4f", bound > 0 ? double(makespan) / double(bound) : 1)),
                    number(format_text("%.4f", makespan > 0 ? double(ideal) / double(makespan) : 1))});
    chart.series.push_back(std::move(series));
  }
  return "<h2>All steps</h2>\n" +
         html_table({"planner", "steps", "makespan ms", "bound ms", "ratio", "efficiency"}, rows,
                    int(rows.size()) - 1) +
         lines_svg(chart);
}

std::string lengths_html(const PlanProblem& problem) {
  const auto [shortest, longest] = std::minmax_element(problem.lengths.begin(), problem.lengths.end());
  Histogram histogram;
  histogram.edges = edges_between(*shortest, *longest);
  const size_t bins = histogram.edges.size() - 1;
  histogram.first.assign(bins, 0), histogram.second.assign(bins, 0);
  histogram.first_name = "samples", histogram.second_name = "work";
  histogram.mark = double(problem.cluster.tokens_per_slot);
  histogram.mark_name = "cap " + with_commas(problem.cluster.tokens_per_slot);
  const double all_work = double(ideal_ns(problem.lengths, problem.cost, 1));
  for (int64_t tokens : problem.lengths) {
    const auto above =
        std::upper_bound(histogram.edges.begin() + 1, histogram.edges.end() - 1, double(tokens));
    const size_t bin = size_t(above - histogram.edges.begin()) - 1;
    histogram.first[bin] += 100.0 / double(problem.lengths.size());
    if (all_work > 0) histogram.second[bin] += 100 * double(ideal_ns({tokens}, problem.cost, 1)) / all_work;
  }
  return "<h2>Lengths</h2>\n<p>" + html_key("s0", "share of the samples") +
         html_key("s1", "share of the compute") +
         "<span class=\"soft small\">by tokens of a sample</span></p>\n" + histogram_svg(histogram);
}

}  // namespace zoetrope
