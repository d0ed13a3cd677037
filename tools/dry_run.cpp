#include "tools/dry_run.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/pipeline.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr size_t kMostRanksShown = 64;

/// What a rank does over the steps.
struct RankSum {
  size_t rank = 0;
  int64_t busy_ns = 0, peak_bytes = 0;
};

std::vector<RankSum> rank_sums(const PlanProblem& problem, const std::vector<const PlanReport*>& reports) {
  std::vector<RankSum> sums(size_t(problem.cluster.num_slots));
  const size_t stages = std::max<size_t>(1, problem.memory.stages.size());
  for (size_t slot = 0; slot < sums.size(); ++slot) {
    sums[slot].rank = slot;
    for (const PlanReport* report : reports) {
      if (slot < report->makespan.busy_ns.size()) sums[slot].busy_ns += report->makespan.busy_ns[slot];
      for (size_t stage = 0; stage < stages && !report->peak_bytes.empty(); ++stage)
        sums[slot].peak_bytes = std::max(sums[slot].peak_bytes, report->peak_bytes[slot * stages + stage]);
    }
  }
  return sums;
}

int64_t sum_of(const std::vector<const PlanReport*>& reports, int64_t (*value)(const PlanReport&)) {
  return std::accumulate(reports.begin(), reports.end(), int64_t(0),
                         [&](int64_t sum, const PlanReport* report) { return sum + value(*report); });
}

}  // namespace

std::string SampleNames::of(int64_t sample) const {
  if (names.empty()) return "sample " + std::to_string(sample);
  return join_message("sample ", sample, ", '", names[size_t(sample)], "',");
}

void check_every_sample(const std::vector<int64_t>& lengths, const SampleNames& names,
                        const PlanProblem& problem, const PlanRequest& request) {
  const auto longest = std::max_element(lengths.begin(), lengths.end());
  const int64_t most = problem.cluster.num_slots * problem.cluster.tokens_per_slot;
  try {
    check_batch({*longest}, problem.cluster);
    if (request.planner == "pipeline")
      plan_pipeline({*longest}, problem.cost, problem.cluster,
                    pipeline_shape(problem.cost, problem.stages, {*longest}));
    else make_plan(request, {*longest}, problem.cost, problem.cluster);
  } catch (const UsageError&) { throw; } catch (const Error& error) {
    const int64_t above = std::count_if(lengths.begin(), lengths.end(), [&](int64_t l) { return l > most; });
    throw Error(join_message("plan: ", names.of(longest - lengths.begin()), " has ", *longest,
                             " tokens and fits nowhere: ", problem.cluster.num_slots, " ranks hold ",
                             problem.cluster.tokens_per_slot, " tokens each, ", most, " together; ", above,
                             " of ", lengths.size(),
                             " samples are longer than that. Use more ranks or more memory per "
                             "rank, --planner elastic, or ingest with a smaller --area or --max-seconds (",
                             error.what(), ")"));
  }
}

int64_t epoch_ns(const PlanProblem& problem, const PlanReport& report) {
  if (problem.epoch_samples == 0 || report.ideal_ns == 0) return 0;
  return int64_t(double(problem.epoch_ideal_ns) / double(report.ideal_ns) * double(report.makespan.total_ns));
}

std::string epoch_text(const PlanProblem& problem, const std::vector<const PlanReport*>& reports) {
  if (problem.epoch_samples == 0 || reports.empty()) return "";
  PlanReport sum;
  sum.ideal_ns = sum_of(reports, [](const PlanReport& r) { return r.ideal_ns; });
  sum.makespan.total_ns = sum_of(reports, [](const PlanReport& r) { return r.makespan.total_ns; });
  return format_text(
      "\ndry run: all %lld samples fit, dropped 0; an epoch is %.1f steps and takes %.1f s in the cost model "
      "(at "
      "%.1f %% of\nthe ideal, as the planned steps)\n",
      static_cast<long long>(problem.epoch_samples),
      double(problem.epoch_samples) / double(problem.samples.size()), 1e-9 * double(epoch_ns(problem, sum)),
      100 * sum.efficiency());
}

std::string ranks_table(const PlanProblem& problem, const std::vector<const PlanReport*>& reports) {
  std::vector<RankSum> ranks = rank_sums(problem, reports);
  const int64_t total = sum_of(reports, [](const PlanReport& r) { return r.makespan.total_ns; });
  std::string note;
  if (ranks.size() > kMostRanksShown) {
    const auto idle = [](const RankSum& a, const RankSum& b) { return a.busy_ns < b.busy_ns; };
    const auto low = [](const RankSum& a, const RankSum& b) { return a.peak_bytes < b.peak_bytes; };
    note = format_text("of %zu ranks: least and most busy, least and most memory\n", ranks.size());
    ranks = {*std::min_element(ranks.begin(), ranks.end(), idle),
             *std::max_element(ranks.begin(), ranks.end(), idle),
             *std::min_element(ranks.begin(), ranks.end(), low),
             *std::max_element(ranks.begin(), ranks.end(), low)};
  }
  std::string text =
      "\n" + note +
      format_text("%5s %14s %8s %12s %12s\n", "rank", "busy ms", "of all", "peak GB", "limit GB");
  for (const RankSum& rank : ranks) {
    text += format_text("%5zu %14.3f %8.4f", rank.rank, 1e-6 * double(rank.busy_ns),
                        total > 0 ? double(rank.busy_ns) / double(total) : 0);
    if (rank.peak_bytes > 0)
      text +=
          format_text(" %12.3f %12.3f", 1e-9 * double(rank.peak_bytes), 1e-9 * double(problem.memory.limit));
    text += "\n";
  }
  return text;
}

}  // namespace zoetrope
