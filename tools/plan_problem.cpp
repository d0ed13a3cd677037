#include "tools/plan_problem.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/order.h"
#include "schedule/trace.h"
#include "tools/length_file.h"
#include "tools/memory.h"
#include "video/dataset.h"

namespace zoetrope {

PlanSteps::PlanSteps(const PlanToolOptions& options, bool whole_file)
    : options_(options), whole_file_(whole_file) {
  int64_t features = options.config.model.in_features();
  if (!options.trace.empty()) {
    const Trace trace = find_trace(options.trace);
    const uint64_t seed = uint64_t(options.config.numerics.seed);
    lengths_ = trace_lengths(trace, seed, options.step * options.samples, options.steps * options.samples);
    source_ = join_message("trace ", trace.name, ", seed ", seed, ": ", trace.what, " (", trace.source, ")");
  } else if (!options.lengths.empty()) {
    lengths_ = read_length_file(options.lengths);
    source_ = options.lengths;
  } else {
    const Dataset dataset(options.config.data.data);
    lengths_ = dataset.lengths();
    features = dataset.features();
    source_ = options.config.data.data;
  }
  constexpr size_t kMostSamples = 1 << 16;  // planned within seconds; a million takes minutes
  if (whole_file && lengths_.size() > kMostSamples)
    throw UsageError(join_message("plan: '", options.lengths, "' holds ", lengths_.size(),
                                  " lengths, and one step at most ", kMostSamples,
                                  "; give --batch, the samples of a step (and --step, which one)"));
  cost_ = find_cost(options.plan.cost.empty() ? "data-sheet" : options.plan.cost);
  set_cluster(features);
  cluster_.execution = execution_of(options.execution);
}

void PlanSteps::set_cluster(int64_t features) {
  const int64_t ranks = std::max<int64_t>(1, options_.config.parallel.ranks);
  if (options_.tokens_per_rank > 0) {
    cluster_ = {ranks, options_.tokens_per_rank, 0};
    cap_source_ = "as given";
    return;
  }
  Workload workload;
  if (whole_file_)
    workload = {*std::max_element(lengths_.begin(), lengths_.end()),
                std::accumulate(lengths_.begin(), lengths_.end(), int64_t(0)), int64_t(lengths_.size()),
                features};
  else
    workload =
        workload_of(lengths_, options_.trace.empty() ? options_.plan.batch : options_.samples, features);
  const int64_t bytes = memory_limit(options_.plan, cost_, ranks);
  const int threads = threads_per_rank(options_.config.parallel, int(ranks));
  const MemoryModel memory =
      memory_model_of(options_.config, threads, workload, state_bytes_of(options_.config));
  cluster_ = caps_of(memory, ranks, workload, bytes);
  cap_source_ =
      join_message("from ", bytes, " bytes per rank; the plan's peak is ", peak_bytes(memory, cluster_));
}

PlanProblem PlanSteps::problem(int64_t index) const {
  PlanProblem problem;
  problem.cost = cost_;
  problem.cluster = cluster_;
  problem.stages = options_.stages;
  if (!options_.trace.empty()) {
    const auto first = lengths_.begin() + index * options_.samples;
    problem.lengths.assign(first, first + options_.samples);
    problem.samples.resize(size_t(options_.samples));
    std::iota(problem.samples.begin(), problem.samples.end(), (options_.step + index) * options_.samples);
    return problem;
  }
  if (whole_file_) {
    problem.samples.resize(lengths_.size());
    std::iota(problem.samples.begin(), problem.samples.end(), int64_t(0));
  } else {
    const int64_t batch = options_.plan.batch;
    problem.samples = SampleOrder(int64_t(lengths_.size()), uint64_t(options_.config.numerics.seed))
                          .samples((options_.step + index) * batch, batch);
  }
  for (int64_t sample : problem.samples) problem.lengths.push_back(lengths_[size_t(sample)]);
  return problem;
}

}  // namespace zoetrope
