// Waves in lock-step: searches for a whole step's waves, and then searches anew for some of them at a time.
#include "schedule/waves.h"

#include <algorithm>

#include "schedule/bound.h"
#include "schedule/even_shards.h"
#include "schedule/planner.h"
#include "schedule/wave_repair.h"
#include "schedule/wave_search.h"

namespace zoetrope {
namespace {

constexpr int64_t kSmallBatch = 64, kMediumBatch = 2048;  // items
// Slots looked at, some 10 to 30 ns each: by searches for all waves, and by all searches.
constexpr int64_t kMostLooks = 40'000'000, kMostLooksInAll = 100'000'000;

/// The plan of filled waves, one after another.
Plan joined(const WaveBatch& batch, const std::vector<FilledWave>& waves) {
  Plan plan;
  std::vector<int64_t> covered;  // by item: tokens of it that lie somewhere
  covered.resize(size_t(batch.num_items()), 0);
  for (const FilledWave& wave : waves) {
    plan.waves.push_back({std::vector<std::vector<Shard>>(size_t(batch.cluster.num_slots)), {}});
    for (const WavePiece& piece : wave.pieces) {
      int64_t& begin = covered[size_t(piece.item)];
      plan.waves.back().slots[size_t(piece.slot)].push_back(
          {batch.sample[size_t(piece.item)], begin, begin + piece.tokens});
      begin += piece.tokens;
    }
  }
  list_rings(plan);
  return plan;
}

int64_t length_of(const std::vector<FilledWave>& waves) {
  int64_t sum = 0;
  for (const FilledWave& wave : waves) sum += wave.length_ns;
  return sum;
}

/// The best waves found for a step.
class StepWaves {
 public:
  explicit StepWaves(const WaveBatch& batch) : batch_(batch), search_(batch) {}

  int64_t total_ns() const { return total_ns_; }
  int64_t num_looks() const { return search_.num_looks(); }
  const std::vector<FilledWave>& waves() const { return waves_; }
  void search(const WaveEffort& effort) {
    // The first search goes to its end, so that there are waves.
    const int64_t most_looks = waves_.empty() ? INT64_MAX : kMostLooks;
    std::vector<FilledWave> found = search_.run(FreeItems(batch_), effort, total_ns_, most_looks);
    if (!found.empty()) replace_all(std::move(found));
  }
  void offer(const Plan& plan);  ///< another planner's
  void repair(int64_t good_ns);
  void search_neighbours(const WaveEffort& effort, size_t count, int64_t most_looks);

 private:
  void replace_all(std::vector<FilledWave> waves) {
    waves_ = std::move(waves);
    total_ns_ = length_of(waves_);
  }
  const WaveBatch& batch_;
  WaveSearch search_;
  std::vector<FilledWave> waves_;
  int64_t total_ns_ = INT64_MAX;
  size_t next_ = 0;  ///< first of the neighbours to look at next
};

void StepWaves::offer(const Plan& plan) {
  std::vector<int32_t> item_of(size_t(batch_.num_items()));
  for (int32_t item = 0; item < int32_t(item_of.size()); ++item)
    item_of[size_t(batch_.sample[size_t(item)])] = item;
  std::vector<FilledWave> waves;
  for (const Wave& wave : plan.waves) {
    FilledWave filled;
    filled.length_ns =
        makespan_of({{wave}}, batch_.cost_model, Execution::kWaves).total_ns - batch_.cost.allreduce;
    for (size_t slot = 0; slot < wave.slots.size(); ++slot)
      for (const Shard& shard : wave.slots[slot])
        filled.pieces.push_back({item_of[size_t(shard.sample)], int32_t(slot), shard.num_tokens()});
    if (!filled.pieces.empty()) waves.push_back(std::move(filled));
  }
  if (length_of(waves) < total_ns_) replace_all(std::move(waves));
}

/// Moves items between waves, the longer the more of them and of slots there are.
void StepWaves::repair(int64_t good_ns) {
  constexpr int64_t kMostPairs = 128 * 64;  // 0.8 billion looks, 2 s
  const int64_t pairs = std::min(kMostPairs, batch_.num_items() * batch_.cluster.num_slots);
  replace_all(search_repairs(batch_, waves_, good_ns, 12 * pairs * pairs));
}

/// Searches anew for the items of `count` waves whose longest items follow each other, until no such waves
/// get shorter or so many slots were looked at in all.
void StepWaves::search_neighbours(const WaveEffort& effort, size_t count, int64_t most_looks) {
  if (waves_.size() <= count) return;
  for (size_t failures = 0; failures < waves_.size(); ++failures) {
    if (search_.num_looks() >= most_looks) return;
    std::stable_sort(waves_.begin(), waves_.end(), [](const FilledWave& a, const FilledWave& b) {
      return a.longest_item() < b.longest_item();
    });
    if (next_ + count > waves_.size()) next_ = 0;
    const auto begin = waves_.begin() + int64_t(next_++), end = begin + int64_t(count);
    const std::vector<FilledWave> some(begin, end);
    std::vector<int32_t> items;
    for (const FilledWave& wave : some)
      for (const WavePiece& piece : wave.pieces) items.push_back(piece.item);
    std::vector<FilledWave> found =
        search_.run(FreeItems(batch_, items), effort, length_of(some), most_looks);
    if (found.empty()) continue;
    std::vector<FilledWave> all(waves_.begin(), begin);
    all.insert(all.end(), end, waves_.end());
    all.insert(all.end(), found.begin(), found.end());
    replace_all(std::move(all));
    if (waves_.size() <= count) return;
    failures = 0;
  }
}

/// Other planners' waves, where those found are far from the mean of all slots and planning them is
/// affordable.
void offer_rivals(const WaveBatch& batch, const std::vector<int64_t>& lengths, int64_t mean,
                  StepWaves& step) {
  constexpr int64_t kSmall = 4096, kMedium = 65536;  // samples x slots
  const int64_t size = batch.num_items() * batch.cluster.num_slots;
  const auto is_within = [&](int64_t part) { return step.total_ns() <= mean + mean / part; };
  if (is_within(64) && (!batch.has_places || is_within(512))) return;
  if (batch.has_places || size <= kSmall || (size <= kMedium && !is_within(20))) {
    step.offer(plan_greedy_waves(lengths, batch.cluster));
    step.offer(plan_dynamic(lengths, batch.cost_model, batch.cluster));
  }
}

/// Where rings lie on nodes waves are hard to fill, and a step lasts long: worth more searching.
void search_on(StepWaves& step, const auto& is_good) {
  constexpr size_t kFewWaves = 8;
  for (const FillStyle& style : {FillStyle{.waste_sixteenths = 4},
                                 {.waste_sixteenths = 4, .on_nodes = true},
                                 {.waste_sixteenths = 16},
                                 {.waste_sixteenths = 16, .on_nodes = true},
                                 {.waste_sixteenths = 16, .uneven = true},
                                 {.waste_sixteenths = 64, .uneven = true}})
    if (!is_good() && step.waves().size() <= kFewWaves)
      step.search({.width = 4, .coarse = 12, .refinements = 3, .style = style});
  constexpr int64_t kLooksOfAPass = 2'000'000;
  for (int64_t cycle = 0, before = INT64_MAX; cycle < 5 && before - step.total_ns() > before / 1024;
       ++cycle) {
    before = step.total_ns();
    for (size_t count : {2, 3, 4})
      for (bool on_nodes : {false, true})
        if (!is_good() && step.num_looks() < kMostLooksInAll)
          step.search_neighbours({.width = 4, .style = {.waste_sixteenths = 16, .on_nodes = on_nodes}}, count,
                                 step.num_looks() + kLooksOfAPass);
  }
}

}  // namespace

WaveBatch::WaveBatch(const std::vector<int64_t>& lengths, const CostModel& cost_set,
                     const Cluster& cluster_value)
    : sample(by_descending_length(lengths)), cost_model(cost_set), cost(cost_set), cluster(cluster_value) {
  has_places = cost.num_heads > 0 || cost.has_nodes(cluster.num_slots);
  for (int64_t index : sample) {
    tokens.push_back(lengths[size_t(index)]);
    even_prices.add_item(tokens.back());
    const int64_t item = num_items() - 1;
    whole_ns.push_back(cost.whole(tokens.back()));
    const int64_t cap = cluster.tokens_per_slot, fewest = (tokens.back() + cap - 1) / cap;
    int64_t work = whole_ns.back(), usual = work;
    if (fewest > 1) {
      constexpr int64_t kAnyTime = int64_t(1) << 61;
      work = has_places ? bound_of_sample(cost, cluster, tokens.back(), kAnyTime).work
                        : std::max(work, least_split_work(cost, tokens.back(), fewest));
      usual = INT64_MAX;
      const int64_t most = has_places ? std::min(2 * fewest + 8, cluster.num_slots) : fewest;
      for (int64_t cp = fewest; cp <= most; ++cp) usual = std::min(usual, cp * even(item, cp).slowest);
    }
    work_ns.push_back(work);
    usual_ns.push_back(std::max(work, usual));
    total_tokens += tokens.back();
    total_ns += work;
  }
}

std::optional<Plan> plan_waves(const std::vector<int64_t>& lengths, const CostModel& cost,
                               const Cluster& cluster) {
  const WaveBatch batch(lengths, cost, cluster);
  StepWaves step(batch);
  step.search({.coarse = 6, .ring_sizes = 4});
  // Good enough: 0.2 % above the mean of all slots. Else a wider search, the wider the fewer the items.
  int64_t mean = batch.total_ns / cluster.num_slots;
  if (batch.has_places) mean = std::max(mean, lower_bound(lengths, cost, cluster) - batch.cost.allreduce);
  const auto is_good = [&] { return step.total_ns() <= mean + mean / 512; };
  if (batch.has_places && !is_good()) step.search({.coarse = 6, .style = {.on_nodes = true}});
  if (batch.num_items() <= kMediumBatch) {
    const size_t width = batch.num_items() <= kSmallBatch ? 8 : 2;
    if (!is_good()) step.search({.width = width});
    if (!is_good()) step.search({.width = width, .style = {.waste_sixteenths = 16}});
    if (batch.has_places && !is_good())
      step.search({.width = width, .style = {.waste_sixteenths = 16, .on_nodes = true}});
    if (!is_good()) step.search({.width = width, .fewest_slots = true, .style = {.waste_sixteenths = 16}});
    if (!is_good() && batch.num_items() <= kSmallBatch)
      step.search({.width = 8, .style = {.short_shards = true}});
  }
  if (step.waves().empty()) return std::nullopt;
  offer_rivals(batch, lengths, mean, step);
  if (batch.has_places && batch.num_items() <= kMediumBatch) {
    search_on(step, is_good);
    if (!is_good()) step.repair(mean + mean / 512);
  }
  return joined(batch, step.waves());
}

}  // namespace zoetrope
