// Taking items out of waves and putting them back: what is undone is as before, and lengths are those of the
// plan.
#include "schedule/wave_repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/ring_price.h"
#include "schedule/trace.h"

namespace zoetrope {
namespace {

constexpr int64_t kCap = 20480;

/// Every item in a wave of its own, whole or evenly on the fewest slots.
std::vector<FilledWave> one_each(const WaveBatch& batch) {
  std::vector<FilledWave> waves;
  for (int32_t item = 0; item < batch.num_items(); ++item) {
    const int64_t tokens = batch.tokens[size_t(item)], cp = (tokens + kCap - 1) / kCap;
    FilledWave wave;
    for (int32_t slot = 0; slot < cp; ++slot)
      wave.pieces.push_back({item, slot, tokens / cp + (slot < tokens % cp ? 1 : 0)});
    waves.push_back(std::move(wave));
  }
  return waves;
}

/// By item: wave, slots and tokens.
std::vector<std::vector<int64_t>> places_of(const std::vector<FilledWave>& waves) {
  std::vector<std::vector<int64_t>> places;
  for (size_t wave = 0; wave < waves.size(); ++wave)
    for (const WavePiece& piece : waves[wave].pieces)
      places.push_back({piece.item, int64_t(wave), piece.slot, piece.tokens});
  std::sort(places.begin(), places.end());
  return places;
}

int64_t sum_of(const std::vector<FilledWave>& waves) {
  int64_t sum = 0;
  for (const FilledWave& wave : waves) sum += wave.length_ns;
  return sum;
}

/// Tokens of the shortest shard of a split item.
int64_t shortest_shard(const WaveBatch& batch, const std::vector<FilledWave>& waves) {
  int64_t least = kCap;
  for (const FilledWave& wave : waves)
    for (const WavePiece& piece : wave.pieces)
      if (piece.tokens < batch.tokens[size_t(piece.item)]) least = std::min(least, piece.tokens);
  return least;
}

/// The plan's time, by the shards alone.
int64_t time_of(const WaveBatch& batch, const std::vector<FilledWave>& waves, const CostModel& cost) {
  Plan plan;
  std::vector<int64_t> covered(size_t(batch.num_items()), 0), lengths(size_t(batch.num_items()));
  for (const FilledWave& wave : waves) {
    plan.waves.push_back({std::vector<std::vector<Shard>>(size_t(batch.cluster.num_slots)), {}});
    for (const WavePiece& piece : wave.pieces) {
      int64_t& begin = covered[size_t(piece.item)];
      plan.waves.back().slots[size_t(piece.slot)].push_back({piece.item, begin, begin + piece.tokens});
      begin += piece.tokens;
    }
  }
  list_rings(plan);
  validate_plan(plan, batch.tokens, batch.cluster.num_slots);
  EXPECT_LE(max_tokens_per_slot(plan), kCap);
  choose_exchanges(plan, FixedCost(cost));
  return makespan_of(plan, cost, Execution::kWaves).total_ns - FixedCost(cost).allreduce;
}

TEST(WaveRepair, UndoneChangesLeaveNothingAndOthersCountRight) {
  for (const int64_t num_slots : {64, 21}) {  // 21: the last node has fewer slots
    const std::vector<int64_t> lengths = trace_lengths(find_trace("t3"), 0, 0, 40);
    const CostModel cost = find_cost("pcie");
    const WaveBatch batch(lengths, cost, {num_slots, kCap, 0, Execution::kWaves});
    WaveRepair repair(batch, one_each(batch));
    std::mt19937_64 random(1);
    int accepted = 0;
    for (int step = 0; step < 300; ++step) {
      const auto before = places_of(repair.filled());
      const int64_t total = repair.total_ns(), busy = repair.busy_ns();
      const size_t wave = size_t(random() % repair.num_waves());
      repair.take_out_of(wave, 0, num_slots, 0);
      for (int i = 0; i < 4; ++i) repair.take_out(int64_t(random() % uint64_t(batch.num_items())));
      repair.set_level(wave, repair.length_ns(wave) / 2);
      const bool placed = repair.put_back({4, 8, step % 2 == 0, uint64_t(step % 3)}, random);
      if (placed && repair.total_ns() <= total) {
        repair.accept();
        ++accepted;
        ASSERT_EQ(repair.total_ns(), sum_of(repair.filled()));
        // Shards that are one token shorter than the longest may end that much sooner.
        const int64_t time = time_of(batch, repair.filled(), cost);
        ASSERT_LE(time, repair.total_ns());
        ASSERT_GE(time, repair.total_ns() - repair.total_ns() / shortest_shard(batch, repair.filled()));
      } else {
        repair.undo();
        ASSERT_EQ(places_of(repair.filled()), before);
        ASSERT_EQ(repair.total_ns(), total);
        ASSERT_EQ(repair.busy_ns(), busy);
      }
    }
    EXPECT_GT(accepted, 0);
  }
}

}  // namespace
}  // namespace zoetrope
