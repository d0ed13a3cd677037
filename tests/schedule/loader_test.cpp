#include "schedule/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "core/check.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::SmallDataset;

const SmallDataset& data() {
  static const SmallDataset dataset;
  return dataset;
}

Prefetcher::Config config_for(int64_t num_slots, int64_t cap, int slot = 0) {
  Prefetcher::Config config;
  config.cost = find_cost("data-sheet");
  config.cluster = {num_slots, cap, 0};
  config.batch = 5;
  config.slot = slot;
  return config;
}

/// Expects the segment's rows to be the sample's tokens as the codec makes them.
void expect_tokens(const Dataset& dataset, const PlannedStep& step, const MicroBatch& batch,
                   const Segment& segment) {
  const int64_t index = step.samples[size_t(segment.sample)];
  const Tokens whole = tokenize(data().clips()[size_t(index)], dataset.patch());
  EXPECT_EQ(segment.draw, step.first_draw + segment.sample);
  EXPECT_EQ(segment.grid, whole.grid);
  EXPECT_EQ(segment.sample_tokens, whole.num_tokens());
  EXPECT_EQ(segment.caption, dataset.samples()[size_t(index)].caption);
  for (int64_t token = segment.begin; token < segment.end; ++token)
    ASSERT_EQ(std::memcmp(batch.tokens.row<uint8_t>(segment.row + token - segment.begin),
                          whole.tokens.row<uint8_t>(token), size_t(dataset.features())),
              0)
        << "sample " << index << " token " << token;
}

TEST(Loader, SlotsTogetherHoldEveryTokenOnce) {
  const Dataset dataset(data().folder());
  const std::vector<int64_t> lengths = dataset.lengths();
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  for (const int64_t num_slots : {1, 2, 3, 5}) {
    SampleOrder order(int64_t(lengths.size()), 3);
    const PlannedStep step =
        plan_step(lengths, order, config_for(num_slots, (longest + num_slots - 1) / num_slots + 7), 15);
    std::vector<int64_t> seen(step.samples.size(), 0);
    for (int64_t wave = 0; wave < int64_t(step.plan.waves.size()); ++wave)
      for (int64_t slot = 0; slot < num_slots; ++slot) {
        const MicroBatch batch = load_micro_batch(dataset, step, wave, slot);
        EXPECT_EQ(batch.wave, wave);
        EXPECT_EQ(batch.tokens.rows(), batch.num_tokens());
        int64_t row = 0;
        for (const Segment& segment : batch.segments) {
          EXPECT_EQ(segment.row, row);
          row += segment.num_tokens();
          seen[size_t(segment.sample)] += segment.num_tokens();
          expect_tokens(dataset, step, batch, segment);
        }
      }
    EXPECT_EQ(seen, step.lengths);
  }
}

TEST(Loader, RangesOfOneSampleBecomeNeighbours) {
  const Dataset dataset(data().folder());
  PlannedStep step;
  step.samples = {6, 1};
  step.plan.waves.push_back({{{{0, 0, 3}, {1, 0, 6}, {0, 5, 9}}, {{0, 3, 5}}}, {}});
  const MicroBatch batch = load_micro_batch(dataset, step, 0, 0);
  ASSERT_EQ(batch.segments.size(), 3u);
  EXPECT_EQ(batch.segments[0].sample, 0);
  EXPECT_EQ(batch.segments[1].sample, 0);
  EXPECT_EQ(batch.segments[1].begin, 5);
  EXPECT_EQ(batch.segments[2].sample, 1);
  EXPECT_EQ(batch.segments[2].row, 7);
  for (const Segment& segment : batch.segments) expect_tokens(dataset, step, batch, segment);
}

TEST(Loader, ASlotWithoutTokensIsAnEmptyBatch) {
  const Dataset dataset(data().folder());
  PlannedStep step;
  step.samples = {0};
  step.plan.waves.push_back({{{{0, 0, dataset.lengths()[0]}}, {}}, {}});
  const MicroBatch batch = load_micro_batch(dataset, step, 0, 1);
  EXPECT_EQ(batch.num_tokens(), 0);
  EXPECT_EQ(batch.tokens.rows(), 0);
  EXPECT_EQ(batch.tokens.row_size(), dataset.features());
}

TEST(Prefetcher, GivesTheStepsOfTheOrderAndGoesOnWhereAnotherStopped) {
  const Dataset dataset(data().folder());
  SampleOrder order(int64_t(dataset.samples().size()), 9);
  Prefetcher all(dataset, order, config_for(2, 400, 1), 0);
  std::vector<uint64_t> hashes;
  for (int64_t step = 0; step < 6; ++step) {
    const Prefetcher::Loaded loaded = all.next();
    EXPECT_EQ(loaded.step.first_draw, step * 5);
    EXPECT_EQ(loaded.step.samples, order.samples(step * 5, 5));
    EXPECT_EQ(loaded.waves.size(), loaded.step.plan.waves.size());
    EXPECT_GE(loaded.step.makespan_ns, loaded.step.bound_ns);
    EXPECT_EQ(loaded.step.total_tokens,
              std::accumulate(loaded.step.lengths.begin(), loaded.step.lengths.end(), int64_t(0)));
    for (const MicroBatch& batch : loaded.waves)
      for (const Segment& segment : batch.segments) expect_tokens(dataset, loaded.step, batch, segment);
    hashes.push_back(loaded.step.plan_hash);
  }
  Prefetcher resumed(dataset, SampleOrder(int64_t(dataset.samples().size()), 9), config_for(2, 400, 0), 15);
  for (size_t step = 3; step < 6; ++step) EXPECT_EQ(resumed.next().step.plan_hash, hashes[step]);
}

TEST(Prefetcher, CarriesErrorsToTheCaller) {
  const Dataset dataset(data().folder());
  Prefetcher prefetcher(dataset, SampleOrder(int64_t(dataset.samples().size()), 1), config_for(2, 3), 0);
  EXPECT_THROW(prefetcher.next(), Error);  // no clip fits 2 x 3 tokens
  EXPECT_THROW(prefetcher.next(), Error);
}

TEST(Prefetcher, CanBeDroppedWhileItWorks) {
  const Dataset dataset(data().folder());
  for (int i = 0; i < 5; ++i)
    Prefetcher(dataset, SampleOrder(int64_t(dataset.samples().size()), uint64_t(i)), config_for(3, 400), 0);
}

TEST(SampleOrder, EveryEpochIsAPermutationAndStepsCrossItsEnd) {
  for (const int64_t n : {1, 2, 31, 257}) {
    SampleOrder order(n, 5), other(n, 6);
    for (const int64_t epoch : {0, 1, 7}) {
      const std::vector<int64_t> drawn = order.samples(epoch * n, n);
      EXPECT_EQ(int64_t(std::set<int64_t>(drawn.begin(), drawn.end()).size()), n);
      EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), n - 1);
      if (n <= 30) continue;
      EXPECT_NE(drawn, other.samples(epoch * n, n));
      EXPECT_EQ(epoch == 0, drawn == order.samples(0, n));
    }
    const std::vector<int64_t> across = order.samples(n - 1, 3);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(across[size_t(i)], SampleOrder(n, 5).sample_at(n - 1 + i));
  }
  EXPECT_THROW(SampleOrder(0, 1), Error);
}

}  // namespace
}  // namespace zoetrope
