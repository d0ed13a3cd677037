#include "parallel/selftest_cases.h"

#include <algorithm>
#include <set>

#include "core/rng.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

/// Lengths 45, 6 (one frame), 7, 1 (one frame), 105 and 33: nothing divides them all.
const std::vector<SelftestSample> kPack{
    {{5, 3, 3}, "a red ball rolls"},      {{1, 2, 3}, "a street"}, {{7, 1, 1}, ""}, {{1, 1, 1}, "a cup"},
    {{3, 5, 7}, "a train passes a tree"}, {{11, 1, 3}, "waves"}};
const std::vector<SelftestSample> kLong{{{3, 5, 7}, "a train passes a tree"}};
const std::vector<SelftestSample> kShort{{{7, 1, 1}, "a cup"}};

class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  /// Integer in [low, high].
  int64_t between(int64_t low, int64_t high) {
    const auto words = philox({uint32_t(count_++), 0, 0, 0}, {uint32_t(seed_), uint32_t(seed_ >> 32)});
    return low + int64_t(words[0] % uint64_t(high - low + 1));
  }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

/// `count` distinct slots in random order.
std::vector<int> draw_members(int ranks, int64_t count, Draws& draws) {
  std::vector<int> slots(static_cast<size_t>(ranks));
  for (int slot = 0; slot < ranks; ++slot) slots[size_t(slot)] = slot;
  for (size_t i = slots.size(); i > 1; --i)
    std::swap(slots[i - 1], slots[size_t(draws.between(0, int64_t(i) - 1))]);
  slots.resize(size_t(count));
  return slots;
}

SelftestCase planned(const std::string& name, const std::vector<SelftestSample>& samples,
                     const std::string& planner, const Cluster& cluster) {
  SelftestCase test{name + ", " + planner, samples, {}};
  test.plan = make_plan({planner, 0}, test.lengths(), CostModel{}, cluster);
  return test;
}

}  // namespace

std::vector<int64_t> SelftestCase::lengths() const {
  std::vector<int64_t> lengths;
  for (const SelftestSample& sample : samples) lengths.push_back(sample.tokens());
  return lengths;
}

Plan random_plan(const std::vector<int64_t>& lengths, int ranks, int64_t waves, uint64_t seed) {
  Draws draws(seed);
  Plan plan;
  plan.waves.resize(size_t(waves));
  for (Wave& wave : plan.waves) wave.slots.resize(size_t(ranks));
  for (int64_t sample = 0; sample < int64_t(lengths.size()); ++sample) {
    Wave& wave = plan.waves[size_t(draws.between(0, waves - 1))];
    const int64_t length = lengths[size_t(sample)];
    const int64_t count = draws.between(1, std::min<int64_t>(ranks, length));
    std::set<int64_t> cuts{0, length};
    while (int64_t(cuts.size()) < count + 1) cuts.insert(draws.between(1, length - 1));
    auto end = cuts.begin();
    for (const int slot : draw_members(ranks, count, draws)) {
      const int64_t begin = *end++;
      wave.slots[size_t(slot)].push_back({sample, begin, *end});
    }
  }
  std::erase_if(plan.waves, [](const Wave& wave) {
    return std::ranges::all_of(wave.slots, [](const auto& s) { return s.empty(); });
  });
  list_rings(plan);
  return plan;
}

std::vector<SelftestCase> selftest_cases(int ranks, int64_t random_plans, uint64_t seed) {
  int64_t total = 0, longest = 0;
  for (const SelftestSample& sample : kPack) {
    total += sample.tokens();
    longest = std::max(longest, sample.tokens());
  }
  const int64_t share = (longest + ranks - 1) / ranks;
  std::vector<SelftestCase> cases;
  for (const std::string& planner : planner_names()) {
    cases.push_back(planned("packs, roomy", kPack, planner, {ranks, total, 0}));
    cases.push_back(planned("packs, tight", kPack, planner, {ranks, share + 9, 0}));
    cases.push_back(planned("one sample over all ranks", kLong, planner, {ranks, share, 0}));
    cases.push_back(planned("ranks without tokens", kShort, planner, {ranks, total, 0}));
  }
  for (int64_t i = 0; i < random_plans; ++i) {
    SelftestCase test{"random plan " + std::to_string(seed + uint64_t(i)), kPack, {}};
    test.plan = random_plan(test.lengths(), ranks, 1 + i % 3, seed + uint64_t(i));
    cases.push_back(std::move(test));
  }
  for (const SelftestCase& test : cases) validate_plan(test.plan, test.lengths(), ranks);
  return cases;
}

MicroBatch selftest_batch(const SelftestCase& test, const Plan& plan, int64_t wave, int slot,
                          int64_t features) {
  MicroBatch batch;
  batch.wave = wave;
  const std::vector<Shard>& shards = plan.waves[size_t(wave)].slots[size_t(slot)];
  batch.tokens = Tensor::empty({tokens_of(shards), features}, DType::kU8);
  int64_t row = 0;
  for (const Shard& shard : shards) {
    const SelftestSample& sample = test.samples[size_t(shard.sample)];
    Segment& segment = batch.segments.emplace_back();
    segment.sample = shard.sample;
    segment.draw = 1000 + shard.sample;
    segment.begin = shard.begin;
    segment.end = shard.end;
    segment.sample_tokens = sample.tokens();
    segment.grid = sample.grid;
    segment.row = row;
    segment.caption = sample.caption;
    for (int64_t token = shard.begin; token < shard.end; ++token, ++row)
      for (int64_t c = 0; c < features; ++c)
        batch.tokens.row<uint8_t>(row)[c] =
            uint8_t(philox({uint32_t(token), uint32_t(c), uint32_t(shard.sample), 0}, {11, 13})[0]);
  }
  return batch;
}

}  // namespace zoetrope
