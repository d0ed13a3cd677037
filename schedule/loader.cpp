#include "schedule/loader.h"

#include <algorithm>
#include <chrono>

#include "core/check.h"

namespace zoetrope {
namespace {

/// The slot's shards with ranges of one sample side by side.
std::vector<Shard> neighbouring(const std::vector<Shard>& shards) {
  std::vector<Shard> ordered;
  for (const Shard& shard : shards) {
    auto at = std::find_if(ordered.rbegin(), ordered.rend(),
                           [&](const Shard& other) { return other.sample == shard.sample; });
    ordered.insert(at.base() == ordered.begin() ? ordered.end() : at.base(), shard);
  }
  return ordered;
}

}  // namespace

MicroBatch load_micro_batch(const Dataset& dataset, const PlannedStep& step, int64_t wave, int64_t slot) {
  ZT_CHECK(wave >= 0 && wave < int64_t(step.plan.waves.size()), "wave ", wave, " of ",
           step.plan.waves.size());
  ZT_CHECK(slot >= 0 && slot < step.plan.num_slots(), "slot ", slot, " of ", step.plan.num_slots());
  const std::vector<Shard> shards = neighbouring(step.plan.waves[size_t(wave)].slots[size_t(slot)]);
  MicroBatch batch;
  batch.wave = wave;
  batch.tokens = Tensor::empty({tokens_of(shards), dataset.features()}, DType::kU8);
  int64_t row = 0;
  for (const Shard& shard : shards) {
    ZT_CHECK(shard.sample >= 0 && shard.sample < int64_t(step.samples.size()), "shard of sample ",
             shard.sample, ", the step has ", step.samples.size());
    const int64_t index = step.samples[size_t(shard.sample)];
    const DatasetSample& sample = dataset.samples()[size_t(index)];
    ZT_CHECK(shard.begin >= 0 && shard.end <= sample.num_tokens, "sample '", sample.name, "' has ",
             sample.num_tokens, " tokens, the plan asks for [", shard.begin, ", ", shard.end, ")");
    Segment segment;
    segment.sample = shard.sample;
    segment.draw = step.first_draw + shard.sample;
    segment.begin = shard.begin;
    segment.end = shard.end;
    segment.sample_tokens = sample.num_tokens;
    segment.grid = sample.grid;
    segment.row = row;
    segment.caption = sample.caption;
    dataset.read_tokens(index, shard.begin, shard.end,
                        batch.tokens.slice_rows(row, row + shard.num_tokens()));
    row += shard.num_tokens();
    batch.segments.push_back(std::move(segment));
  }
  return batch;
}

PlannedStep plan_step(const std::vector<int64_t>& dataset_lengths, SampleOrder& order,
                      const Prefetcher::Config& config, int64_t first_draw) {
  PlannedStep step;
  step.first_draw = first_draw;
  step.samples = order.samples(first_draw, config.batch);
  for (int64_t sample : step.samples) {
    step.lengths.push_back(dataset_lengths.at(size_t(sample)));
    step.total_tokens += step.lengths.back();
  }
  const auto begin = std::chrono::steady_clock::now();
  step.plan = make_plan(config.request, step.lengths, config.cost, config.cluster);
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
  step.plan_milliseconds = passed.count();
  validate_plan(step.plan, step.lengths, config.cluster.num_slots);
  step.plan_hash = hash_of(step.plan);
  step.makespan_ns = makespan_of(step.plan, config.cost).total_ns;
  step.bound_ns = lower_bound(step.lengths, config.cost, config.cluster);
  step.cp_sizes = cp_sizes_of(step.plan);
  return step;
}

}  // namespace zoetrope
