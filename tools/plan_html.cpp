#include "tools/plan_html.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tools/html_page.h"
#include "tools/text_format.h"
#include "tools/version.h"

namespace zoetrope {
namespace {

constexpr size_t kMostLanes = 64;

GanttSpan drawn(const SimSpan& span) {
  GanttSpan out{span.begin_ns, span.end_ns, wave_style(span.wave), "compute", span.wave};
  switch (span.kind) {
    case SimSpan::kCompute: break;
    case SimSpan::kTransfer: out.style = "transfer", out.what = "waits for a ring transfer"; break;
    case SimSpan::kWait: out.style = "wait", out.what = "waits for other ranks"; break;
    case SimSpan::kAllReduce: out.style = "sum", out.what = "sum of gradients"; break;
    case SimSpan::kOptimizer: out.style = "optimizer", out.what = "norm and optimizer"; break;
  }
  return out;
}

std::string lane_name(const Simulation& simulation, size_t lane) {
  const size_t stages = size_t(std::max<int64_t>(1, simulation.num_stages));
  if (stages > 1) return format_text("pipe %zu.%zu", lane / stages, lane % stages);
  return "rank " + std::to_string(lane);
}

/// Forward passes are paler where passes are apart.
GanttLane lane_of(const Simulation& simulation, size_t lane) {
  GanttLane out{lane_name(simulation, lane), {}};
  const std::vector<SimSpan>& spans = simulation.lanes[lane];
  const bool apart =
      std::any_of(spans.begin(), spans.end(), [](const SimSpan& span) { return span.backward; });
  for (const SimSpan& span : spans) {
    out.spans.push_back(drawn(span));
    if (apart && span.kind == SimSpan::kCompute && !span.backward) out.spans.back().style += " fw";
  }
  return out;
}

/// Numbers of the busiest lanes, or of the least busy ones, ascending.
std::vector<size_t> extreme_lanes(const Simulation& simulation, size_t count, bool busiest) {
  std::vector<size_t> order(simulation.lanes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t first = simulation.busy_ns[a], second = simulation.busy_ns[b];
    return busiest ? first > second : first < second;
  });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

std::string problem_html(const PlanPage& page) {
  const PlanProblem& problem = page.problem;
  int64_t tokens = 0, longest = 0;
  for (int64_t length : problem.lengths) tokens += length, longest = std::max(longest, length);
  std::string html = "<div class=\"card\"><dl>";
  const auto row = [&](const char* name, const std::string& text) {
    html += std::string("<dt>") + name + "</dt><dd>" + escape_html(text) + "</dd>\n";
  };
  const size_t steps = page.steps.size();
  row("lengths", page.source);
  row(steps == 1 ? "step" : "first step",
      format_text("%s samples, %s tokens, longest %s; dropped 0",
                  with_commas(int64_t(problem.lengths.size())).c_str(), with_commas(tokens).c_str(),
                  with_commas(longest).c_str()) +
          (steps == 1 ? "" : format_text("; %zu steps in all", steps)));
  const std::string ranks = with_commas(problem.cluster.num_slots);
  row("ranks", problem.stages == 1 ? ranks
                                   : ranks + format_text(" pipelines of %lld stages",
                                                         static_cast<long long>(problem.stages)));
  row("cap", with_commas(problem.cluster.tokens_per_slot) + " tokens per rank (" + page.cap_source + ")");
  row("execution", problem.stages > 1                               ? "pipelines, one forward, one backward"
                   : problem.cluster.execution == Execution::kWaves ? "waves in lock-step"
                                                                    : "free-running");
  const CostModel& cost = problem.cost;
  row("cost set", cost.name + ": " + cost.device +
                      (cost.date.empty() ? "; not measured"
                                         : format_text("; measured %s, fit error %.1f %%", cost.date.c_str(),
                                                       100 * cost.fit_error)));
  return html + "</dl></div>\n";
}

std::string verdict_html(const Verdict& verdict) {
  std::string html = std::string("<div class=\"card verdict") + (verdict.pays ? " pays" : "") +
                     "\"><strong>" + escape_html(verdict.headline) + "</strong><p>" +
                     escape_html(verdict.rivals) + "</p>\n";
  const auto list = [&](const char* title, const std::vector<std::string>& items) {
    if (items.empty()) return;
    html += std::string("<p class=\"soft\">") + title + "</p><ul>";
    for (const std::string& item : items) html += "<li>" + escape_html(item) + "</li>\n";
    html += "</ul>";
  };
  list(verdict.pays ? "Why" : "What limits it", verdict.reasons);
  list("What would change it", verdict.changes);
  return html + "</div>\n";
}

/// Peak bytes of each rank or stage against its limit; where they are not known, the most tokens of the whole
/// model's activations that it holds, against the cap.
std::string memory_html(const PlanProblem& problem, const PlanReport& report, const Simulation& simulation) {
  const std::string whose =
      lane_name(simulation, 0) + " to " + lane_name(simulation, simulation.lanes.size() - 1);
  std::vector<double> held;
  if (!report.peak_bytes.empty() && problem.memory.limit > 0) {
    const double limit = double(problem.memory.limit), unit = limit >= 1e10 ? 1e9 : 1e6;
    for (int64_t bytes : report.peak_bytes) held.push_back(double(bytes) / unit);
    return bars_svg(held, limit / unit, format_text("limit %.4g %s", limit / unit, unit == 1e9 ? "GB" : "MB"),
                    whose);
  }
  for (int64_t tokens : simulation.peak_tokens)
    held.push_back(double((tokens + simulation.num_stages - 1) / simulation.num_stages));
  const int64_t cap = problem.cluster.tokens_per_slot;
  return bars_svg(held, double(cap), "cap " + with_commas(cap) + " tokens", whose);
}

std::string charts_html(const PlanPage& page, const std::vector<const PlanReport*>& reports,
                        const std::vector<Simulation>& simulations) {
  int64_t scale = 1;
  for (const Simulation& simulation : simulations) scale = std::max(scale, simulation.total_ns);
  std::string html =
      "<h2>Every rank's time" + std::string(page.steps.size() > 1 ? " in the first step" : "") + "</h2><p>" +
      html_key("w0", "compute, a shade per wave, forward paler") +
      html_key("transfer", "waits for a ring transfer") + html_key("wait", "waits for other ranks") +
      html_key("sum", "sum of gradients") +
      (page.problem.cost.optimizer_ns > 0 ? html_key("optimizer", "norm and optimizer") : "") +
      html_key("memory", page.problem.memory.limit > 0 ? "peak memory" : "most tokens held at a time") +
      "</p><p class=\"soft small\">All charts have the same scale" +
      (page.problem.stages > 1 ? ".</p>\n"
                               : "; simulated layer by layer, where the makespan adds up whole waves.</p>\n");
  for (size_t i = reports.size(); i-- > 0;) {
    const PlanReport& report = *reports[i];
    const DrawnLanes drawn_ranks = drawn_lanes(simulations[i]);
    html += "<h3>" + escape_html(report.planner) +
            (report.cp > 0 ? format_text(", CP %lld", static_cast<long long>(report.cp)) : "") + ": " +
            time_label(double(report.makespan.total_ns), double(report.makespan.total_ns)) +
            format_text(", %.4f × bound; simulated %s</h3>\n", report.ratio(),
                        time_label(double(simulations[i].total_ns), double(simulations[i].total_ns)).c_str());
    if (!drawn_ranks.note.empty())
      html += "<p class=\"soft small\">" + escape_html(drawn_ranks.note) + "</p>\n";
    html += gantt_svg(drawn_ranks.lanes, scale, report.bound_ns);
    html += memory_html(page.problem, report, simulations[i]);
  }
  return html;
}

}  // namespace

DrawnLanes drawn_lanes(const Simulation& simulation) {
  DrawnLanes drawn_ranks;
  const size_t count = simulation.lanes.size();
  if (count <= kMostLanes) {
    for (size_t lane = 0; lane < count; ++lane) drawn_ranks.lanes.push_back(lane_of(simulation, lane));
    return drawn_ranks;
  }
  constexpr size_t kExtremes = 8;
  const size_t stages = size_t(std::max<int64_t>(1, simulation.num_stages));
  const size_t at_once = std::min(stages, kMostLanes - 2 * kExtremes);  // stages of a pipeline stay together
  const size_t wanted = (kMostLanes - 2 * kExtremes) / at_once, pipelines = count / stages;
  const size_t every = std::max<size_t>(1, (pipelines + wanted - 1) / wanted);
  for (size_t pipe = 0; pipe < pipelines; pipe += every)
    for (size_t stage = 0; stage < at_once; ++stage)
      drawn_ranks.lanes.push_back(lane_of(simulation, pipe * stages + stage));
  for (const bool busiest : {true, false}) {
    bool first = true;
    for (size_t lane : extreme_lanes(simulation, kExtremes, busiest)) {
      drawn_ranks.lanes.push_back(lane_of(simulation, lane));
      drawn_ranks.lanes.back().gap_before = std::exchange(first, false);
    }
  }
  drawn_ranks.note = format_text(
      "Drawn: of %s %s every %zu%s; below them the %zu busiest, at the end the %zu least busy ones.",
      with_commas(int64_t(pipelines)).c_str(), stages > 1 ? "pipelines" : "ranks", every,
      every % 10 == 1 && every % 100 != 11   ? "st"
      : every % 10 == 2 && every % 100 != 12 ? "nd"
      : every % 10 == 3 && every % 100 != 13 ? "rd"
                                             : "th",
      kExtremes, kExtremes);
  return drawn_ranks;
}

std::string plan_html(const PlanPage& page) {
  const std::vector<const PlanReport*> reports = fastest_sizes(page.steps.front());
  std::vector<Simulation> simulations;
  for (const PlanReport* report : reports) simulations.push_back(simulate(page.problem, report->plan));
  std::string body =
      format_text("<h1>%s samples on %s ranks</h1>\n<p class=\"soft\">zoetrope plan %s</p>\n",
                  with_commas(int64_t(page.problem.lengths.size())).c_str(),
                  with_commas(page.problem.cluster.num_slots * page.problem.stages).c_str(), kVersion);
  body += problem_html(page);
  body += "<h2>Does it pay off?</h2>\n";
  body += page.verdict
              ? verdict_html(*page.verdict)
              : "<p class=\"soft\">One planner alone says nothing of that: --planner all compares.</p>\n";
  body += planner_table_html(page, simulations);
  if (page.steps.size() > 1) body += steps_html(page);
  body += lengths_html(page.problem);
  body += charts_html(page, reports, simulations);
  return html_page("zoetrope plan: " + page.source, body);
}

}  // namespace zoetrope
