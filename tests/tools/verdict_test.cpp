// The verdict: each case that it names, from figures alone and from problems that are that case.
#include "tools/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/check.h"
#include "tools/verdict_figures.h"

namespace zoetrope {
namespace {

std::string all_words(const Verdict& verdict) { return verdict_text(verdict); }

/// Text without line breaks, to look for sentences.
std::string flat(const Verdict& verdict) {
  std::string text = verdict.headline + " " + verdict.rivals;
  for (const std::string& each : verdict.reasons) text += " " + each;
  for (const std::string& each : verdict.changes) text += " " + each;
  return text;
}

void expect_says(const Verdict& verdict, const std::string& words) {
  EXPECT_NE(flat(verdict).find(words), std::string::npos) << words << "\n" << all_words(verdict);
}
void expect_silent(const Verdict& verdict, const std::string& words) {
  EXPECT_EQ(flat(verdict).find(words), std::string::npos) << words << "\n" << all_words(verdict);
}

/// Ours and balanced static of one step in percent of the bound.
VerdictFigures figures_of(int64_t ours, int64_t balanced) {
  VerdictFigures figures;
  figures.ours_ns = figures.first_ours_ns = ours * 10;
  figures.balanced = {"static-balanced", 4, balanced * 10};
  figures.first_balanced_ns = figures.balanced_free_links_ns = balanced * 10;
  figures.bound_ns = figures.first_bound_ns = 1000;
  figures.num_samples = 8, figures.num_ranks = 4, figures.tokens_per_rank = 100;
  figures.total_tokens = 1000, figures.shortest = 10, figures.longest = 90;
  figures.longest_alone_ns = 100;
  figures.balanced_moved = 3, figures.ours_moved = 1;
  figures.balanced_waves = 4, figures.least_waves = 3;
  return figures;
}

TEST(Verdict, NamesSmallGainsNothing) {
  const Verdict little = verdict_of(figures_of(100, 102));
  EXPECT_FALSE(little.pays);
  EXPECT_NEAR(little.gain, 0.02, 1e-12);
  expect_says(little,
              "It does not pay: against the best balanced static plan (CP 4) elastic gains nothing (2.0 %).");
  expect_says(little, "already within 2.0 % of the bound");
  const Verdict much = verdict_of(figures_of(100, 125));
  EXPECT_TRUE(much.pays);
  expect_says(much, "It pays: elastic is 25.0 % faster than the best balanced static plan (CP 4).");
  expect_says(much, "The bound leaves 25.0 % over balanced static CP at most; elastic gets 25.0 %.");
}

TEST(Verdict, BothModelsMustSayThatItPays) {
  VerdictFigures figures = figures_of(100, 110);
  expect_silent(verdict_of(figures), "simulated");
  figures.simulated_ours_ns = 1000, figures.simulated_balanced_ns = 1082;
  EXPECT_TRUE(verdict_of(figures).pays);
  expect_says(verdict_of(figures),
              "It pays: elastic is 10.0 % faster than the best balanced static plan (CP 4); "
              "simulated layer by layer: 8.2 % faster.");
  figures.simulated_balanced_ns = 1010;
  EXPECT_FALSE(verdict_of(figures).pays);
  expect_says(verdict_of(figures),
              "It is not sure to pay: elastic is 10.0 % faster than the best balanced static "
              "plan (CP 4); simulated layer by layer: nothing (1.0 %).");
  figures.simulated_balanced_ns = 800;
  expect_says(verdict_of(figures), "simulated layer by layer: 25.0 % slower.");
}

TEST(Verdict, LargeGainsAreFactors) {
  VerdictFigures figures = figures_of(100, 399);
  figures.others = {{"static", 0, 2000}};
  expect_says(verdict_of(figures), "elastic is 3.99 times as fast as the best balanced static plan (CP 4).");
  expect_says(verdict_of(figures), "Over static: 2.00 times as fast.");
}

TEST(Verdict, SaysSoWhenOursIsSlower) {
  const Verdict verdict = verdict_of(figures_of(125, 100));
  EXPECT_FALSE(verdict.pays);
  expect_says(verdict, "elastic is 25.0 % slower than the best balanced static plan");
}

TEST(Verdict, ComparesWithOtherPlanners) {
  VerdictFigures figures = figures_of(100, 110);
  figures.others = {{"static", 8, 1500}, {"greedy-waves", 0, 1010}, {"bags"}, {"dynamic", 0, 800}};
  EXPECT_EQ(
      verdict_of(figures).rivals,
      "Over static (CP 8): 50.0 % faster; over greedy-waves: nothing (1.0 %); over bags: it has no plan; "
      "over dynamic: 25.0 % slower.");
}

TEST(Verdict, EachLimitNeedsItsFigures) {
  const VerdictFigures plain = figures_of(100, 101);
  const char* kLimits[] = {"Lengths are uniform", "One giant sample", "forces splits",
                           "Micro-batches are full", "fits one rank whole"};
  for (const char* words : kLimits) expect_silent(verdict_of(plain), words);
  VerdictFigures f = plain;
  f.shortest = 88;
  expect_says(verdict_of(f), kLimits[0]);
  f = plain;
  f.longest_alone_ns = 990;
  expect_says(verdict_of(f), "tokens alone take at least 99.0 % of the bound");
  f = plain;
  f.num_above_cap = 4, f.tokens_above_cap = 950;
  expect_says(verdict_of(f),
              "forces splits: 4 of 8 samples (95.0 % of the tokens) must be split by any planner");
  f = plain;
  f.balanced_waves = 3;
  expect_says(verdict_of(f),
              "Micro-batches are full: balanced static CP needs 3, and the cap allows no fewer.");
  f = plain;
  f.balanced_moved = 0;
  expect_says(verdict_of(f), kLimits[4]);
  expect_silent(verdict_of(f), "Links are fast");
}

TEST(Verdict, TellsFastLinksFromSlow) {
  VerdictFigures figures = figures_of(100, 125);
  figures.balanced_free_links_ns = 1000;
  expect_says(verdict_of(figures),
              "Transfers slow balanced static CP by 25.0 %; per token it sends 3.00 tokens, elastic 1.00.");
  figures.balanced_free_links_ns = 1240;
  expect_says(verdict_of(figures),
              "Links are fast: if transfers took no time, balanced static CP would gain 0.8 %.");
}

TEST(Verdict, SaysWhatWouldChangeIt) {
  VerdictFigures figures = figures_of(100, 101);
  figures.trials = {{"links 4 times slower", 1000, 1200},
                    {"8 ranks", 1000, 1015},
                    {"half the cap", 1000, 0},
                    {"twice the cap", 0, 0}};
  const Verdict verdict = verdict_of(figures);
  ASSERT_EQ(verdict.changes.size(), 3u);
  EXPECT_EQ(verdict.changes[0], "With links 4 times slower elastic gains 20.0 % over balanced static CP.");
  EXPECT_EQ(verdict.changes[1], "With half the cap balanced static CP has no plan, elastic has.");
  EXPECT_EQ(verdict.changes[2], "Little changes with 8 ranks (1.5 %).");
}

TEST(Verdict, LinesAreShortAndKeepNumbersWithTheirSign) {
  VerdictFigures figures = figures_of(100, 101);
  for (int i = 1; i < 30; ++i) figures.trials.push_back({std::to_string(i) + " ranks", 1000, 1010 + i});
  std::string text = verdict_text(verdict_of(figures));
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    EXPECT_LE(text.find('\n', begin) - begin, 100u);
    EXPECT_NE(text.substr(text.find_first_not_of(' ', begin), 1), "%") << text;
  }
}

/// Planned by all planners, as the command does.
Verdict judged(PlanProblem problem) {
  problem.samples.resize(problem.lengths.size());
  std::vector<PlanReport> reports;
  for (const std::string& planner : planner_names()) {
    try {
      for (PlanReport& report : report_planner(problem, {planner, 0})) reports.push_back(std::move(report));
    } catch (const Error&) { EXPECT_NE(planner, "elastic"); }
  }
  return verdict_of(verdict_figures(problem, {reports}));
}

PlanProblem problem_of(std::vector<int64_t> lengths, const std::string& cost, Cluster cluster) {
  PlanProblem problem;
  problem.lengths = std::move(lengths);
  problem.cost = find_cost(cost);
  problem.cluster = cluster;
  return problem;
}

TEST(VerdictOnProblems, UniformLengthsDoNotPay) {
  const Verdict verdict = judged(problem_of(std::vector<int64_t>(64, 8000), "h100", {8, 16384}));
  EXPECT_FALSE(verdict.pays);
  expect_says(verdict, "Lengths are uniform, 8,000 to 8,000 tokens");
}

TEST(VerdictOnProblems, AGiantIsTheCriticalPath) {
  std::vector<int64_t> lengths(8, 500);
  lengths.push_back(16 * 8192);
  const Verdict verdict = judged(problem_of(lengths, "pcie", {16, 8192}));
  expect_says(verdict, "One giant sample is the critical path");
}

TEST(VerdictOnProblems, SlowLinksPayWhereTheCapForcesSplits) {
  std::vector<int64_t> lengths(60, 2000);
  lengths.insert(lengths.end(), 4, 30000);
  const PlanProblem slow = problem_of(lengths, "pcie:wan-1.3b", {8, 8192});
  const Verdict verdict = judged(slow);
  EXPECT_TRUE(verdict.pays) << all_words(verdict);
  expect_says(verdict, "Transfers slow balanced static CP by");
  expect_says(verdict, "forces static CP to split every sample on 4 ranks or more");
  expect_says(verdict, "With links 4 times");
}

TEST(VerdictOnProblems, LargeStepsAreNotTriedAgain) {
  PlanProblem problem = problem_of(std::vector<int64_t>(2048, 100), "square-linear", {64, 16384});
  const Verdict verdict = judged(problem);
  ASSERT_FALSE(verdict.changes.empty());
  EXPECT_NE(verdict.changes.back().find("were not tried"), std::string::npos);
}

TEST(VerdictOnProblems, StepsAddUp) {
  PlanProblem problem = problem_of({900, 300, 300, 200}, "h100", {4, 500});
  problem.samples.resize(4);
  std::vector<PlanReport> reports;
  for (const char* planner : {"static-balanced", "elastic"})
    for (PlanReport& report : report_planner(problem, {planner, 0})) reports.push_back(std::move(report));
  const VerdictFigures one = verdict_figures(problem, {reports}),
                       two = verdict_figures(problem, {reports, reports});
  EXPECT_EQ(two.ours_ns, 2 * one.ours_ns);
  EXPECT_EQ(two.bound_ns, 2 * one.bound_ns);
  EXPECT_EQ(two.balanced.total_ns, 2 * one.balanced.total_ns);
  EXPECT_EQ(two.first_ours_ns, one.first_ours_ns);
  EXPECT_EQ(two.balanced.cp, one.balanced.cp);
  expect_says(verdict_of(two), "What follows is of the first step");
  expect_silent(verdict_of(one), "What follows is of the first step");
  reports.erase(reports.begin());
  reports.erase(reports.begin(), reports.end() - 1);
  const VerdictFigures none = verdict_figures(problem, {reports});
  EXPECT_EQ(none.balanced.total_ns, 0);
  expect_says(verdict_of(none), "balanced static CP has none");
}

}  // namespace
}  // namespace zoetrope
