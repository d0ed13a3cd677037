// The page of `zoetrope plan`: well-formed, self-contained, escaped, and with the figures of its reports.
#include "tools/plan_html.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "core/files.h"
#include "schedule/trace.h"
#include "tests/support/markup.h"
#include "tests/support/process.h"
#include "tools/html_page.h"
#include "tools/text_format.h"
#include "tools/verdict_figures.h"

namespace zoetrope {
namespace {

using testing_support::foreign_reference;
using testing_support::markup_fault;

PlanPage page_of(int64_t samples, Cluster cluster, const std::string& cost, int64_t stages = 1,
                 size_t steps = 1) {
  PlanPage page;
  page.problem.lengths = trace_lengths(find_trace("t2"), 3, 0, samples);
  page.problem.samples.resize(size_t(samples));
  page.problem.cost = find_cost(cost);
  page.problem.cluster = cluster;
  page.problem.stages = stages;
  page.source = "lengths <a&b>.csv", page.cap_source = "as \"given\"";
  for (size_t step = 0; step < steps; ++step) {
    page.steps.emplace_back();
    for (const std::string& planner : planner_names())
      for (PlanReport& report : report_planner(page.problem, {planner, 0}))
        page.steps.back().push_back(std::move(report));
    if (stages > 1) page.steps.back().push_back(report_plan(page.problem, {"pipeline", 0}));
  }
  page.verdict = verdict_of(verdict_figures(page.problem, page.steps));
  return page;
}

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

void expect_sound(const std::string& html) {
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(foreign_reference(html), "");
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf\""), std::string::npos);
}

TEST(PlanHtml, ShowsTheFiguresOfItsReports) {
  const PlanPage page = page_of(64, {8, 20480}, "h100");
  const std::string html = plan_html(page);
  expect_sound(html);
  for (const PlanReport* report : fastest_sizes(page.steps[0])) {
    const std::string cells =
        format_text("<td class=\"n\">%.4f</td><td class=\"n\">%.4f</td><td class=\"n\">%.3f</td>",
                    report->ratio(), report->efficiency(), report->makespan.max_over_mean);
    EXPECT_NE(html.find(cells), std::string::npos) << report->planner << " " << cells;
    const std::string makespan =
        format_text("<td class=\"n\">%.3f</td>", double(report->makespan.total_ns) / 1e6);
    EXPECT_NE(html.find(makespan), std::string::npos) << makespan;
    const Simulation simulation = simulate(page.problem, report->plan);
    EXPECT_GT(simulation.mfu, 0);
    EXPECT_NE(html.find(format_text("<td class=\"n\">%.1f %%</td></tr>", 100 * simulation.mfu)),
              std::string::npos);
  }
  EXPECT_NE(html.find(escape_html(page.verdict->headline)), std::string::npos);
  for (const std::string& reason : page.verdict->reasons)
    EXPECT_NE(html.find("<li>" + escape_html(reason) + "</li>"), std::string::npos) << reason;
  EXPECT_EQ(count_of(html, "<h3>"), planner_names().size());               // a chart each
  EXPECT_EQ(count_of(html, "class=\"cap\""), planner_names().size() + 1);  // memory, and the lengths
  EXPECT_NE(html.find("not measured"), std::string::npos);
}

TEST(PlanHtml, EscapesWhatUsersName) {
  const std::string html = plan_html(page_of(16, {8, 20480}, "h100"));
  EXPECT_NE(html.find("lengths &lt;a&amp;b&gt;.csv"), std::string::npos);
  EXPECT_EQ(html.find("<a&b>"), std::string::npos);
  EXPECT_NE(html.find("as &quot;given&quot;"), std::string::npos);
  EXPECT_EQ(escape_html("<>&\"'x"), "&lt;&gt;&amp;&quot;&#39;x");
}

TEST(PlanHtml, ManyRanksAreDrawnInPartAndSaySo) {
  const PlanPage page = page_of(700, {160, 20480}, "h100:wan-1.3b");
  const DrawnLanes drawn = drawn_lanes(simulate(page.problem, page.steps[0].back().plan));
  EXPECT_EQ(drawn.lanes.size(), 40u + 16u);  // every fourth, the busiest and the least busy ones
  EXPECT_NE(drawn.note.find("of 160 ranks every 4th"), std::string::npos) << drawn.note;
  const std::string html = plan_html(page);
  expect_sound(html);
  EXPECT_NE(html.find("of 160 ranks every 4th"), std::string::npos);
  EXPECT_LT(html.size(), size_t(4) << 20);
  const DrawnLanes all =
      drawn_lanes(simulate(page.problem, Plan{{{std::vector<std::vector<Shard>>(64), {}}}}));
  EXPECT_EQ(all.lanes.size(), 64u);
  EXPECT_EQ(all.note, "");
}

TEST(PlanHtml, ShowsPipelinesStagesAndSteps) {
  const PlanPage page = page_of(24, {4, 20480}, "h100", 4, 3);
  const std::string html = plan_html(page);
  expect_sound(html);
  for (const char* words :
       {"4 pipelines of 4 stages", "pipe 3.0", "3 steps in all", "All steps", "first step"})
    EXPECT_NE(html.find(words), std::string::npos) << words;
}

TEST(PlanHtml, MemoryIsInBytesWhereItIsKnown) {
  PlanPage page = page_of(24, {4, 40960}, "h100");
  EXPECT_NE(plan_html(page).find("cap 40,960 tokens"), std::string::npos);
  page.problem.memory.limit = 80'000'000'000;
  for (PlanReport& report : page.steps[0]) report.peak_bytes.assign(4, 60'000'000'000);
  const std::string html = plan_html(page);
  expect_sound(html);
  EXPECT_NE(html.find("limit 80 GB"), std::string::npos);
}

TEST(PlanHtml, OddProblemsMakeSoundPages) {
  PlanPage page = page_of(1, {4, 100000}, "square");
  page.failures = "bags: plan: 1 < 2 & 3\n";
  expect_sound(plan_html(page));
  page.verdict.reset();
  page.steps[0].resize(1);
  const std::string html = plan_html(page);
  expect_sound(html);
  EXPECT_NE(html.find("One planner alone"), std::string::npos);
}

TEST(PlanHtml, TheCommandWritesThePage) {
  const std::string path = testing::TempDir() + "/page-" + std::to_string(getpid()) + ".html";
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {ZT_BINARY, "plan", "--trace", "t9", "--samples", "40", "--ranks", "32",
                               "--cost", "pcie", "--tokens-per-rank", "20480", "--html", path});
    return testing_support::run_process(more);
  };
  EXPECT_EQ(run({"--planner", "all"}).exit_code, 0);
  std::string html = read_file(path);
  expect_sound(html);
  EXPECT_NE(html.find("trace t9, seed 0"), std::string::npos);
  EXPECT_NE(html.find("What would change it"), std::string::npos);
  EXPECT_EQ(run({"--steps", "2"}).exit_code, 0);
  html = read_file(path);
  expect_sound(html);
  EXPECT_NE(html.find("All steps"), std::string::npos);
  EXPECT_EQ(testing_support::run_process({ZT_BINARY, "plan", "--trace", "t9", "--samples", "40", "--ranks",
                                          "32", "--tokens-per-rank", "20480", "--html", "/nowhere/x.html"})
                .exit_code,
            3);
}

TEST(Markup, FindsPlantedFaults) {
  EXPECT_EQ(markup_fault(html_page("t", "<p>x</p>")), "");
  for (const char* body :
       {"<p>x", "x</p>", "<p><b>x</p></b>", "<p a=b>x</p>", "<p>a & b</p>", "<p>a > b</p>", "<p"})
    EXPECT_NE(markup_fault(html_page("t", body)), "") << body;
  EXPECT_EQ(foreign_reference(html_page("t", "")), "");
  EXPECT_NE(foreign_reference("<img src=\"x.png\"/>"), "");
  EXPECT_NE(foreign_reference("http://x"), "");
}

}  // namespace
}  // namespace zoetrope
