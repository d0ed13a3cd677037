#include <algorithm>

#include "schedule/simulate.h"
#include "tools/bench_cp.h"

namespace zoetrope {
namespace {

std::vector<int64_t> sizes_that_fit_all(const std::vector<PlannedStep>& batches, const Cluster& cluster) {
  std::vector<int64_t> sizes = feasible_cp_sizes(batches[0].lengths, cluster);
  for (const PlannedStep& batch : batches) {
    const std::vector<int64_t> fit = feasible_cp_sizes(batch.lengths, cluster);
    std::erase_if(sizes, [&](int64_t cp) { return std::find(fit.begin(), fit.end(), cp) == fit.end(); });
  }
  return sizes;
}

void set_plan(PlannedStep& step, Plan plan) {
  step.plan = std::move(plan);
  step.plan_hash = hash_of(step.plan);
  step.cp_sizes = cp_sizes_of(step.plan);
}

CpEntry plan_entry(const PlanRequest& request, const std::vector<PlannedStep>& batches, const CostModel& cost,
                   const Cluster& cluster) {
  CpEntry entry{request.planner, request.cp, false, batches, {}};
  for (PlannedStep& step : entry.steps) {
    set_plan(step, make_plan(request, step.lengths, cost, cluster));
    validate_plan(step.plan, step.lengths, cluster.num_slots);
    step.makespan_ns = makespan_of(step.plan, cost).total_ns;
    step.bound_ns = lower_bound(step.lengths, cost, cluster);
    entry.simulated_ns.push_back(simulate(step.plan, cost).total_ns);
  }
  return entry;
}

/// Moves one token over the first boundary of each ring, where the caps allow it.
void shift_boundaries(Wave& wave, const Cluster& cluster) {
  for (const RingView& ring : split_samples(wave)) {
    auto& giver_slot = wave.slots[size_t(ring.members[0])];
    auto& taker_slot = wave.slots[size_t(ring.members[1])];
    const auto of_sample = [&](const Shard& shard) { return shard.sample == ring.sample; };
    if (std::count_if(giver_slot.begin(), giver_slot.end(), of_sample) != 1) continue;
    if (std::count_if(taker_slot.begin(), taker_slot.end(), of_sample) != 1) continue;
    Shard& first = *std::find_if(giver_slot.begin(), giver_slot.end(), of_sample);
    Shard& second = *std::find_if(taker_slot.begin(), taker_slot.end(), of_sample);
    if (first.end != second.begin) continue;
    if (first.num_tokens() > 1 && tokens_of(taker_slot) < cluster.tokens_per_slot)
      --first.end, --second.begin;
    else if (second.num_tokens() > 1 && tokens_of(giver_slot) < cluster.tokens_per_slot)
      ++first.end, ++second.begin;
  }
}

}  // namespace

std::vector<CpEntry> plan_entries(const BenchOptions& options, const Dataset& dataset, const CostModel& cost,
                                  const Cluster& cluster) {
  const std::vector<int64_t> all_lengths = dataset.lengths();
  SampleOrder order(int64_t(all_lengths.size()), uint64_t(options.config.numerics.seed));
  std::vector<PlannedStep> batches(static_cast<size_t>(options.batches));
  for (size_t b = 0; b < batches.size(); ++b) {
    batches[b].first_draw = int64_t(b) * options.config.plan.batch;
    batches[b].samples = order.samples(batches[b].first_draw, options.config.plan.batch);
    for (const int64_t sample : batches[b].samples) {
      batches[b].lengths.push_back(all_lengths[size_t(sample)]);
      batches[b].total_tokens += batches[b].lengths.back();
    }
  }
  std::vector<CpEntry> entries;
  for (const std::string& planner : options.planners) {
    if (!fixes_cp_size(planner)) {
      const std::string& bags = options.config.plan.bags;
      entries.push_back(plan_entry({planner, 0, planner == "bags" ? bags : ""}, batches, cost, cluster));
      continue;
    }
    std::vector<int64_t> sizes = sizes_that_fit_all(batches, cluster);
    if (options.config.plan.cp > 0) sizes = {options.config.plan.cp};
    ZT_REQUIRE(!sizes.empty(), "planner ", planner, ": no CP size fits ", cluster.tokens_per_slot,
               " tokens per rank for every batch; raise --memory-per-rank");
    for (const int64_t cp : sizes) {
      entries.push_back(plan_entry({planner, cp}, batches, cost, cluster));
      entries.back().is_smallest_that_fits = cp == *std::min_element(sizes.begin(), sizes.end());
    }
  }
  return entries;
}

std::vector<PlannedStep> summation_variants(const PlannedStep& step, const Cluster& cluster) {
  std::vector<PlannedStep> variants(3, step);
  Plan plan = step.plan;
  for (Wave& wave : plan.waves)
    for (auto& slot : wave.slots)
      // Ranges of one sample keep their order and stay neighbours.
      std::stable_sort(slot.begin(), slot.end(),
                       [](const Shard& a, const Shard& b) { return a.sample > b.sample; });
  set_plan(variants[0], plan);
  plan = step.plan;
  for (Wave& wave : plan.waves) std::reverse(wave.slots.begin(), wave.slots.end());
  set_plan(variants[1], plan);
  plan = step.plan;
  for (Wave& wave : plan.waves) shift_boundaries(wave, cluster);
  set_plan(variants[2], plan);
  return variants;
}

}  // namespace zoetrope
