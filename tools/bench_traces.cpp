#include "tools/bench_traces.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "schedule/trace.h"
#include "tools/plan_report.h"

namespace zoetrope {
namespace {

constexpr int64_t kRanks = 64;

/// A trace with the samples of a step and the cap that go with it.
struct Case {
  const char *name, *trace;
  int64_t samples, tokens_per_rank;
  bool is_text = false;
};
// Source: the published mixes T1 to T9; T1 has 89 samples a step for 8 GPUs, T3c a small batch.
constexpr Case kCases[] = {{"T1", "t1", 712, 20480},      {"T2", "t2", 512, 20480},
                           {"T3", "t3", 512, 20480},      {"T3c", "t3", 128, 20480},
                           {"T4", "t4", 512, 2048, true}, {"T5", "t5", 512, 8192, true},
                           {"T6", "t6", 512, 8192, true}, {"T7", "t7", 512, 8192, true},
                           {"T8", "t8", 512, 8192, true}, {"T9", "t9", 512, 20480}};

std::vector<Case> cases_of(const TracesBench& bench) {
  if (bench.traces.empty()) return {std::begin(kCases), std::end(kCases)};
  std::vector<Case> cases;
  for (const std::string& name : bench.traces) {
    const auto found =
        std::find_if(std::begin(kCases), std::end(kCases), [&](const Case& one) { return one.name == name; });
    if (found == std::end(kCases))
      throw UsageError("bench traces: there is no trace '" + name + "', expected T1 to T9 or T3c");
    cases.push_back(*found);
  }
  return cases;
}

TracesRow row_of(const Case& one, const PlanProblem& problem, int64_t seed, const std::string& planner) {
  TracesRow row{one.name, problem.cost.name, name_of(problem.cluster.execution), planner, seed};
  try {
    const std::vector<PlanReport> reports = report_planner(problem, {planner, 0, ""});
    const PlanReport& report = fastest_of(reports);
    row.makespan_ns = report.makespan.total_ns;
    row.bound_ns = report.bound_ns;
    for (const PlanReport& size : reports) row.plan_ms += size.plan_milliseconds;
  } catch (const Error&) {
    if (planner == planner_names().back()) throw;  // the default plans whatever fits
  }
  return row;
}

void print_rows(const std::vector<TracesRow>& rows, size_t first) {
  const TracesRow& any = rows[first];
  std::printf("%-4s %-13s %-5s seed %lld ", any.trace.c_str(), any.cost.c_str(), any.execution.c_str(),
              static_cast<long long>(any.seed));
  for (size_t i = first; i < rows.size(); ++i)
    if (rows[i].makespan_ns == 0) std::printf(" %s no plan", rows[i].planner.c_str());
    else std::printf(" %s %.4f", rows[i].planner.c_str(), rows[i].ratio());
  std::printf("  %.1f ms\n", rows.back().plan_ms);
  std::fflush(stdout);
}

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Ratios of a planner over the seeds.
std::vector<double> ratios_of(const std::vector<TracesRow>& rows, const std::string& trace,
                              const std::string& hardware, const std::string& execution,
                              const std::string& planner) {
  std::vector<double> ratios;
  for (const TracesRow& row : rows)
    if (row.trace == trace && row.cost.substr(0, row.cost.find(':')) == hardware &&
        row.execution == execution && row.planner == planner && row.makespan_ns > 0)
      ratios.push_back(row.ratio());
  return ratios;
}

std::string mean_text(const std::vector<double>& ratios) {
  double sum = 0;
  for (double ratio : ratios) sum += ratio;
  return ratios.empty() ? "no plan" : fixed(sum / double(ratios.size()), 2);
}

/// Rows of other planners that are faster than elastic's on the same problem.
int64_t num_faster(const std::vector<TracesRow>& rows) {
  int64_t count = 0;
  const std::string own = planner_names().back();
  const auto same_problem = [](const TracesRow& a, const TracesRow& b) {
    return a.trace == b.trace && a.cost == b.cost && a.execution == b.execution && a.seed == b.seed;
  };
  for (const TracesRow& elastic : rows)
    if (elastic.planner == own)
      count += std::any_of(rows.begin(), rows.end(), [&](const TracesRow& row) {
        return same_problem(row, elastic) && row.makespan_ns > 0 && row.makespan_ns < elastic.makespan_ns;
      });
  return count;
}

}  // namespace

std::vector<TracesRow> run_bench_traces(const TracesBench& bench) {
  std::vector<TracesRow> rows;
  for (const std::string& hardware : bench.hardware) find_cost(hardware);  // before anything is planned
  for (const Case& one : cases_of(bench))
    for (const std::string& hardware : bench.hardware)
      for (const std::string& execution : bench.executions)
        for (int64_t seed = 0; seed < bench.num_seeds; ++seed) {
          PlanProblem problem;
          problem.lengths = trace_lengths(find_trace(one.trace), uint64_t(seed), 0, one.samples);
          problem.cost = find_cost(hardware + (one.is_text ? ":text-7b" : ""));
          problem.cluster = {kRanks, one.tokens_per_rank, 0, execution_of(execution)};
          const size_t first = rows.size();
          for (const std::string& planner : planner_names())
            rows.push_back(row_of(one, problem, seed, planner));
          if (bench.prints) print_rows(rows, first);
        }
  return rows;
}

std::string traces_json(const std::vector<TracesRow>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TracesRow& row : rows)
    list.push_back({{"trace", row.trace},
                    {"cost", row.cost},
                    {"execution", row.execution},
                    {"seed", row.seed},
                    {"planner", row.planner},
                    {"makespan", row.makespan_ns},
                    {"bound", row.bound_ns},
                    {"plan_ms", row.plan_ms}});
  return nlohmann::ordered_json{{"bench", "traces"}, {"ranks", kRanks}, {"rows", list}}.dump(2);
}

std::string traces_markdown(const TracesBench& bench, const std::vector<TracesRow>& rows) {
  std::string text = "| trace |", line = "|---|";
  for (const std::string& hardware : bench.hardware)
    for (const std::string& execution : bench.executions)
      text += " " + hardware + " " + execution + " |", line += "---|";
  text += "\n" + line + "\n";
  for (const Case& one : cases_of(bench)) {
    text += std::string("| ") + one.name + " |";
    for (const std::string& hardware : bench.hardware)
      for (const std::string& execution : bench.executions) {
        const auto ratios = [&](const std::string& planner) {
          return ratios_of(rows, one.name, hardware, execution, planner);
        };
        const std::vector<double> elastic = ratios(planner_names().back());
        text += " **" + fixed(*std::max_element(elastic.begin(), elastic.end()), 3) + "** " +
                mean_text(ratios("static-balanced")) + " " + mean_text(ratios("static")) + " |";
      }
    text += "\n";
  }
  return text + "\nanother planner faster than elastic: " + std::to_string(num_faster(rows)) + " of " +
         std::to_string(rows.size() / planner_names().size()) + "\n";
}

}  // namespace zoetrope
