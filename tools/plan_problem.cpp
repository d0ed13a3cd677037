#include "tools/plan_problem.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/data_sheets.h"
#include "schedule/order.h"
#include "schedule/trace.h"
#include "tools/assemble.h"
#include "tools/length_file.h"
#include "tools/memory.h"
#include "video/store/dataset.h"

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
    for (const DatasetSample& sample : dataset.samples()) names_.names.push_back(sample.name);
    // Only then do bytes follow from [model], as in training.
    if (!options.planned.is_given() && options.tokens_per_rank == 0)
      require_same_patch(options.config.model, dataset, options.config.data.data);
    source_ = options.config.data.data;
  }
  constexpr size_t kMostSamples = 1 << 16;  // planned within seconds; a million takes minutes
  if (whole_file && lengths_.size() > kMostSamples)
    throw UsageError(join_message("plan: '", options.lengths, "' holds ", lengths_.size(),
                                  " lengths, and one step at most ", kMostSamples,
                                  "; give --batch, the samples of a step (and --step, which one)"));
  set_cost();
  try {
    set_cluster(features);
  } catch (const UsageError&) { throw; } catch (const Error& error) {
    const int64_t longest = std::max_element(lengths_.begin(), lengths_.end()) - lengths_.begin();
    throw Error(join_message(error.what(), "; the longest is ", names_.of(longest), " of ",
                             lengths_[size_t(longest)], " tokens"));
  }
  if (cluster_.execution == Execution::kFree) cluster_.execution = execution_of(options.execution);
}

void PlanSteps::set_cost() {
  const PlannedModel& planned = options_.planned;
  const std::string given = options_.plan.cost;
  if (planned.is_given()) {
    const ModelConfig& model = options_.config.model;
    const std::optional<CostModel> found =
        find_data_sheet(given.empty() ? "h100" : given, planned.network(model), planned.recompute(model));
    if (found) {
      cost_ = *found;
      return;
    }
  }
  cost_ = find_cost(given.empty() ? "data-sheet" : given);
}

Workload PlanSteps::workload(int64_t features) const {
  if (whole_file_)
    return {*std::max_element(lengths_.begin(), lengths_.end()),
            std::accumulate(lengths_.begin(), lengths_.end(), int64_t(0)), int64_t(lengths_.size()),
            features};
  return workload_of(lengths_, options_.trace.empty() ? options_.plan.batch : options_.samples, features);
}

void PlanSteps::set_cluster(int64_t features) {
  const int64_t ranks = std::max<int64_t>(1, options_.config.parallel.ranks);
  TrainConfig config = options_.config;
  config.plan = options_.plan;
  const bool as_given = options_.tokens_per_rank > 0;
  cluster_ = {ranks, options_.tokens_per_rank, 0};
  cap_source_ = "as given";
  if (options_.planned.is_given()) {
    const bool named = options_.planned.model != "config" && !options_.precision_was_given;
    memory_ = memory_of_model(options_.planned, config, named ? "bf16" : config.numerics.precision, cost_,
                              ranks, options_.stages);
    cluster_ = caps_within(memory_, ranks, workload(features), options_.tokens_per_rank);
    cluster_.execution = options_.planned.is_in_lock_step() ? Execution::kWaves : Execution::kFree;
    if (!as_given) cap_source_ = memory_.limit_source;
  } else if (!as_given) {
    memory_ = memory_of_run(config, cost_, ranks, workload(features));
    const MemoryModel memory = memory_.stages.front().memory();
    cluster_ = caps_of(memory, ranks, workload(features), memory_.limit);
    cap_source_ =
        join_message(memory_.limit_source, "; the plan's peak is at most ", peak_bytes(memory, cluster_));
    if (options_.stages > 1) memory_ = {};  // the backend has no pipelines
  }
}

void PlanSteps::check_all(const PlanRequest& request) const {
  if (is_drawn()) check_every_sample(lengths_, names_, problem(0), request);
}

PlanProblem PlanSteps::problem(int64_t index) const {
  PlanProblem problem;
  problem.step = options_.step + index;
  problem.cost = cost_;
  problem.cluster = cluster_;
  problem.stages = options_.stages;
  problem.memory = memory_;
  if (is_drawn()) {
    problem.epoch_samples = int64_t(lengths_.size());
    problem.epoch_ideal_ns = ideal_ns(lengths_, cost_, cluster_.num_slots * options_.stages);
  }
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
