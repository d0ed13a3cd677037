#include "tools/plan_problem.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/order.h"
#include "tools/length_file.h"
#include "tools/memory.h"
#include "video/dataset.h"

namespace zoetrope {

PlanProblem read_problem(const PlanToolOptions& options, bool whole_file, std::string& source) {
  const int64_t ranks = std::max<int64_t>(1, options.config.parallel.ranks), batch = options.plan.batch;
  int64_t features = options.config.model.in_features();
  std::vector<int64_t> all;
  if (options.lengths.empty()) {
    const Dataset dataset(options.config.data.data);
    all = dataset.lengths();
    features = dataset.features();
  } else {
    all = read_length_file(options.lengths);
  }
  PlanProblem problem;
  Workload workload;
  constexpr size_t kMostSamples = 1 << 16;  // planned within seconds; a million takes minutes
  if (whole_file && all.size() > kMostSamples)
    throw UsageError(join_message("plan: '", options.lengths, "' holds ", all.size(),
                                  " lengths, and one step at most ", kMostSamples,
                                  "; give --batch, the samples of a step (and --step, which one)"));
  if (whole_file) {
    problem.samples.resize(all.size());
    std::iota(problem.samples.begin(), problem.samples.end(), int64_t(0));
    workload = {*std::max_element(all.begin(), all.end()),
                std::accumulate(all.begin(), all.end(), int64_t(0)), int64_t(all.size()), features};
  } else {
    workload = workload_of(all, batch, features);
    problem.samples = SampleOrder(int64_t(all.size()), uint64_t(options.config.numerics.seed))
                          .samples(options.step * batch, batch);
  }
  for (int64_t sample : problem.samples) problem.lengths.push_back(all[size_t(sample)]);
  problem.cost = find_cost(options.plan.cost.empty() ? "data-sheet" : options.plan.cost);
  if (options.tokens_per_rank > 0) {
    problem.cluster = {ranks, options.tokens_per_rank, 0};
    source = "as given";
    return problem;
  }
  const int64_t bytes = memory_limit(options.plan, problem.cost, ranks);
  const int threads = threads_per_rank(options.config.parallel, int(ranks));
  const MemoryModel memory =
      memory_model_of(options.config, threads, workload, state_bytes_of(options.config));
  problem.cluster = caps_of(memory, ranks, workload, bytes);
  source = join_message("from ", bytes, " bytes per rank; the plan's peak is ",
                        peak_bytes(memory, problem.cluster));
  return problem;
}

}  // namespace zoetrope
