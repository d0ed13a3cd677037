// Figures of `bench scale` as JSON, as a page with plots and as a table.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "schedule/cost.h"
#include "tools/bench_scale.h"
#include "tools/html_page.h"
#include "tools/svg.h"
#include "tools/text_format.h"
#include "tools/version.h"

namespace zoetrope {
namespace {

const char* const kRivals[] = {"static", "static-balanced", "greedy-waves"};

std::string factor(double value) { return value > 0 ? format_text("%.2f", value) : "-"; }

/// Rows of a cost set and trace, in their order.
std::vector<const ScaleRow*> rows_of(const std::vector<ScaleRow>& rows, const std::string& cost,
                                     const std::string& trace) {
  std::vector<const ScaleRow*> chosen;
  for (const ScaleRow& row : rows)
    if (row.cost == cost && row.trace == trace) chosen.push_back(&row);
  return chosen;
}

LineChart speed_ups(const std::vector<const ScaleRow*>& rows) {
  LineChart chart{"GPUs", "speed-up of elastic", true, 1, {}};
  for (const char* rival : kRivals) {
    LineSeries series{std::string("over ") + rival, {}, {}};
    for (const ScaleRow* row : rows)
      if (row->speed_up(rival) > 0) {
        series.x.push_back(double(row->gpus));
        series.y.push_back(row->speed_up(rival));
      }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string table_of(const std::vector<const ScaleRow*>& rows) {
  std::vector<std::vector<HtmlCell>> cells;
  const auto number = [](std::string text) { return HtmlCell{std::move(text), false, true}; };
  for (const ScaleRow* row : rows) {
    const ScalePlanner &ours = row->planner("elastic"), &balanced = row->planner("static-balanced");
    std::vector<HtmlCell> line{number(with_commas(row->gpus)), number(with_commas(row->samples)),
                               number(std::to_string(row->steps))};
    for (const char* rival : kRivals) line.push_back(number(factor(row->speed_up(rival))));
    for (const char* rival : kRivals) line.push_back(number(factor(row->planned_speed_up(rival))));
    line.push_back(number(format_text("%.4f", row->ratio())));
    line.push_back(number(format_text("%.1f", ours.plan_ms)));
    line.push_back(number(format_text("%.1f %%", 100 * balanced.mfu)));
    line.push_back(number(format_text("%.1f %%", 100 * ours.mfu)));
    std::string note;
    if (row->left_out > 0)
      note = format_text("%lld of %lld steps left out: the pool can't hold a sample of %s tokens",
                         static_cast<long long>(row->left_out),
                         static_cast<long long>(row->steps + row->left_out),
                         with_commas(row->longest_left_out).c_str());
    for (const ScalePlanner& planner : row->planners)
      if (!planner.failure.empty())
        note += (note.empty() ? "" : "; ") + planner.planner + ": " + planner.failure;
    line.push_back({note});
    cells.push_back(std::move(line));
  }
  return html_table({"GPUs", "samples per step", "steps", "over static", "over static-balanced",
                     "over greedy-waves", "static, planned", "balanced, planned", "greedy, planned",
                     "elastic × bound", "elastic plan ms", "MFU balanced", "MFU elastic", ""},
                    cells);
}

nlohmann::ordered_json json_of(const ScaleRow& row) {
  nlohmann::ordered_json object{{"cost", row.cost},       {"trace", row.trace},    {"gpus", row.gpus},
                                {"samples", row.samples}, {"steps", row.steps},    {"left_out", row.left_out},
                                {"bound", row.bound_ns},  {"ideal", row.ideal_ns}, {"ratio", row.ratio()}};
  for (const char* rival : kRivals) {
    object["speed_up"][rival] = row.speed_up(rival);
    object["planned_speed_up"][rival] = row.planned_speed_up(rival);
  }
  for (const ScalePlanner& planner : row.planners)
    object["planners"].push_back({{"planner", planner.planner},
                                  {"makespan", planner.total_ns},
                                  {"simulated", planner.simulated_ns},
                                  {"cp_sizes", planner.cp_sizes},
                                  {"plan_ms", planner.plan_ms},
                                  {"exposed", planner.exposed},
                                  {"idle", planner.idle},
                                  {"mfu", planner.mfu},
                                  {"failure", planner.failure}});
  return object;
}

}  // namespace

std::string scale_json(const ScaleBench& bench, const std::vector<ScaleRow>& rows) {
  nlohmann::ordered_json object{{"bench", "scale"},
                                {"samples_per_gpu", bench.samples_per_gpu},
                                {"tokens_per_rank", bench.tokens_per_rank},
                                {"seed", bench.seed},
                                {"rows", nlohmann::ordered_json::array()}};
  for (const ScaleRow& row : rows) object["rows"].push_back(json_of(row));
  return object.dump(2);
}

std::string scale_html(const ScaleBench& bench, const std::vector<ScaleRow>& rows) {
  const auto [least, most] = std::minmax_element(bench.gpus.begin(), bench.gpus.end());
  std::string body = "<h1>" + with_commas(*least) + " to " + with_commas(*most) + " GPUs</h1>\n";
  body +=
      std::string("<p class=\"soft\">zoetrope bench scale ") + kVersion + "</p>\n<div class=\"card\"><p>" +
      format_text(
          "On paper: %lld samples per GPU and step, at most %s tokens per rank, free-running, seed %llu. The "
          "batch grows with the pool. Static planners have the best CP size of each step. Small pools: "
          "sums over up to 8 steps.</p>\n",
          static_cast<long long>(bench.samples_per_gpu), with_commas(bench.tokens_per_rank).c_str(),
          static_cast<unsigned long long>(bench.seed));
  for (const std::string& cost : bench.costs)
    body += "<p class=\"small soft\">" + escape_html(cost + ": " + find_cost(cost).device) + "</p>\n";
  body += "</div>\n";
  LineChart ratios{"GPUs", "elastic / bound", true, 1, {}};
  for (const std::string& cost : bench.costs)
    for (const std::string& trace : bench.traces) {
      const std::vector<const ScaleRow*> chosen = rows_of(rows, cost, trace);
      body += "<h2>" + escape_html(cost + ", " + trace) + "</h2>\n" + lines_svg(speed_ups(chosen)) +
              table_of(chosen);
      LineSeries series{cost + ", " + trace, {}, {}};
      for (const ScaleRow* row : chosen)
        if (row->ratio() > 0) series.x.push_back(double(row->gpus)), series.y.push_back(row->ratio());
      ratios.series.push_back(std::move(series));
    }
  body += "<h2>How near to the bound</h2>\n" + lines_svg(ratios);
  return html_page("zoetrope bench scale", body);
}

std::string scale_markdown(const std::vector<ScaleRow>& rows) {
  std::string text =
      "| cost set | trace | GPUs | over static | over static-balanced | over greedy-waves | elastic / bound "
      "|\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ScaleRow& row : rows)
    text += format_text("| %s | %s | %s | %s | %s | %s | %s |\n", row.cost.c_str(), row.trace.c_str(),
                        with_commas(row.gpus).c_str(), factor(row.speed_up("static")).c_str(),
                        factor(row.speed_up("static-balanced")).c_str(),
                        factor(row.speed_up("greedy-waves")).c_str(),
                        row.ratio() > 0 ? format_text("%.3f", row.ratio()).c_str() : "-");
  return text;
}

}  // namespace zoetrope
