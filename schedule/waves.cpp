// Waves in lock-step: the search over the levels of a step's waves. A beam of partial plans grows wave by
// wave; each tries levels for its next wave and keeps those with the least time per work; whenever one more
// wave can hold all that is left, the lowest such level is found by bisection.
#include "schedule/waves.h"

#include <algorithm>
#include <numeric>

#include "schedule/bound.h"
#include "schedule/even_shards.h"

namespace zoetrope {
namespace {

/// A plan's first waves; the others are still to come.
struct Partial {
  FreeItems free;
  int64_t elapsed_ns = 0;
  int last_wave = -1;  ///< index of the chain's end
};

struct Effort {
  size_t width = 1;           ///< partial plans kept
  int coarse = 8;             ///< levels tried at first, each 80 % of the one before
  int64_t ring_sizes = 5;     ///< levels at which the longest item is an even ring
  int refinements = 2;        ///< times that the best level's neighbourhood is halved
  bool fewest_slots = false;  ///< only levels that the longest item reaches on the fewest slots
  FillStyle style = {};
};

constexpr int64_t kSmallBatch = 64, kMediumBatch = 2048;  // items

/// The plan of filled waves, one after another.
Plan joined(const WaveBatch& batch, const std::vector<const FilledWave*>& chain) {
  Plan plan;
  std::vector<int64_t> covered;  // by item: tokens of it that lie somewhere
  covered.resize(size_t(batch.num_items()), 0);
  for (const FilledWave* wave : chain) {
    plan.waves.push_back({std::vector<std::vector<Shard>>(size_t(batch.cluster.num_slots)), {}});
    for (const WavePiece& piece : wave->pieces) {
      int64_t& begin = covered[size_t(piece.item)];
      plan.waves.back().slots[size_t(piece.slot)].push_back(
          {batch.sample[size_t(piece.item)], begin, begin + piece.tokens});
      begin += piece.tokens;
    }
  }
  list_rings(plan);
  return plan;
}

class WaveSearch {
 public:
  explicit WaveSearch(const WaveBatch& batch) : batch_(batch), filler_(batch) {}

  /// Nanoseconds of the best plan so far.
  int64_t best_ns() const { return best_ns_; }
  std::optional<Plan> best_plan() const {
    return best_ns_ == INT64_MAX ? std::nullopt : std::optional<Plan>(to_plan());
  }

  void run(const Effort& effort) {
    effort_ = effort;
    filler_.set_style(effort.style);
    std::vector<Partial> beam{{FreeItems(batch_), 0, -1}};
    while (!beam.empty()) {
      children_.clear();
      for (const Partial& partial : beam) {
        try_last_wave(partial);
        try_levels(partial);
      }
      beam = keep_best();
    }
  }

 private:
  struct Child {
    Partial partial;
    FilledWave wave;
    int64_t level = 0;
  };
  struct Link {
    int before;
    FilledWave wave;
  };

  /// Orders by time per work, exactly.
  bool is_better(const Partial& a, const Partial& b) const {
    return __int128(a.elapsed_ns) * (batch_.total_ns - b.free.work_ns) <
           __int128(b.elapsed_ns) * (batch_.total_ns - a.free.work_ns);
  }
  int64_t mean_left(const Partial& partial) const {
    return partial.free.work_ns / batch_.cluster.num_slots + batch_.cost.wave;
  }

  std::vector<Partial> keep_best() {
    std::vector<size_t> order(children_.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return is_better(children_[a].partial, children_[b].partial);
    });
    std::vector<Partial> beam;
    for (size_t i : order) {
      Child& child = children_[i];
      if (beam.size() == effort_.width) break;
      if (child.partial.elapsed_ns + mean_left(child.partial) >= best_ns_) continue;
      const bool known = std::any_of(beam.begin(), beam.end(), [&](const Partial& other) {
        return other.elapsed_ns == child.partial.elapsed_ns &&
               other.free.work_ns == child.partial.free.work_ns;
      });
      if (known) continue;
      links_.push_back({child.partial.last_wave, std::move(child.wave)});
      child.partial.last_wave = int(links_.size()) - 1;
      beam.push_back(std::move(child.partial));
    }
    return beam;
  }

  void offer(const Partial& before, FilledWave wave) {
    if (before.elapsed_ns + wave.length_ns >= best_ns_) return;
    best_ns_ = before.elapsed_ns + wave.length_ns;
    best_before_ = before.last_wave;
    best_last_ = std::move(wave);
  }

  void try_last_wave(const Partial& partial) {
    const Cluster& cluster = batch_.cluster;
    if (partial.free.tokens > cluster.num_slots * cluster.tokens_per_slot) return;
    const int64_t mean = mean_left(partial);
    const auto attempt = [&](int64_t level) {
      FreeItems free = partial.free;
      FilledWave wave = filler_.fill(free, level, WaveGoal::kAll);
      if (free.count > 0) return false;
      offer(partial, std::move(wave));
      return true;
    };
    int64_t low = 0, excess = std::max<int64_t>(1, mean / 256);
    while (partial.elapsed_ns + mean + low < best_ns_ && !attempt(mean + excess)) {
      if (excess > (int64_t(1) << 58)) return;
      low = excess;
      excess *= 2;
    }
    for (int round = 0; round < 5 && partial.elapsed_ns + mean + low < best_ns_; ++round) {
      const int64_t middle = low + (excess - low) / 2;
      (attempt(mean + middle) ? excess : low) = middle;
    }
  }

  /// Adds the children of one partial plan.
  void try_levels(const Partial& partial) {
    const size_t first = children_.size();
    std::vector<int64_t> levels = first_levels(partial);
    for (int64_t level : levels) try_level(partial, level);
    for (int round = 0; round < effort_.refinements && children_.size() > first; ++round) {
      const auto best =
          std::min_element(children_.begin() + int64_t(first), children_.end(),
                           [&](const Child& a, const Child& b) { return is_better(a.partial, b.partial); });
      const int64_t at = best->level;
      std::sort(levels.begin(), levels.end());
      const auto here = std::lower_bound(levels.begin(), levels.end(), at);
      const int64_t below = here == levels.begin() ? at : *(here - 1),
                    above = here + 1 == levels.end() ? at : *(here + 1);
      for (int64_t level : {at - (at - below) / 2, at + (above - at) / 2})
        if (level != at && level != below && level != above) {
          levels.push_back(level);
          try_level(partial, level);
        }
    }
  }

  std::vector<int64_t> first_levels(const Partial& partial) {
    const Cluster& cluster = batch_.cluster;
    const FixedCost& cost = batch_.cost;
    const int64_t tokens = batch_.tokens[size_t(FreeItems(partial.free).first_from(0))];
    const int64_t cap = cluster.tokens_per_slot, fewest = (tokens + cap - 1) / cap;
    // Slots full of tokens as dense as the longest item's need no higher level, unless it is a slow ring.
    const int64_t segments = std::min(cluster.segments_per_slot > 0 ? cluster.segments_per_slot : cap,
                                      cap / batch_.tokens.back() + 1);
    const int64_t dense = (cost.own(tokens) - cost.segment) / tokens * cap + segments * cost.segment;
    int64_t level =
        std::max(std::min(partial.free.work_ns / cluster.num_slots, dense), cost.even_ring(tokens, fewest)) +
        cost.wave;
    std::vector<int64_t> levels;
    if (effort_.fewest_slots) {
      const int64_t least = cost.even_ring(tokens, fewest) + cost.wave;
      for (int i = 0; i < effort_.coarse; ++i) levels.push_back(least + (level - least) * i / effort_.coarse);
      for (int64_t percent : {1, 2, 4, 8}) levels.push_back(least + least * percent / 100);
    } else {
      for (int i = 0; i < effort_.coarse; ++i, level -= level / 5) levels.push_back(level);
      const int64_t most = std::min(cluster.num_slots, tokens);
      for (int64_t cp = fewest; cp < fewest + effort_.ring_sizes && cp <= most; ++cp)
        levels.push_back(cost.even_ring(tokens, cp) + cost.wave);
      if (batch_.has_places)
        for (int64_t cp = most, least = INT64_MAX; cp >= fewest; --cp) {
          const int64_t ns = cost.even_ring(tokens, cp);
          if (cp * ns >= least) continue;
          least = cp * ns;
          levels.push_back(ns + cost.wave);
        }
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    return levels;
  }

  void try_level(const Partial& partial, int64_t level) {
    Child child{partial, {}, level};
    child.wave = filler_.fill(child.partial.free, level, WaveGoal::kSome);
    if (child.wave.pieces.empty()) return;
    if (child.partial.free.count == 0) return offer(partial, std::move(child.wave));
    child.partial.elapsed_ns += child.wave.length_ns;
    children_.push_back(std::move(child));
  }

  Plan to_plan() const {
    std::vector<const FilledWave*> chain{&best_last_};
    for (int link = best_before_; link >= 0; link = links_[size_t(link)].before)
      chain.push_back(&links_[size_t(link)].wave);
    std::reverse(chain.begin(), chain.end());
    return joined(batch_, chain);
  }

  const WaveBatch& batch_;
  Effort effort_;
  WaveFiller filler_;
  std::vector<Child> children_;  // of the beam
  std::vector<Link> links_;      // waves of all partial plans ever kept
  int64_t best_ns_ = INT64_MAX;
  int best_before_ = -1;
  FilledWave best_last_;
};

}  // namespace

WaveBatch::WaveBatch(const std::vector<int64_t>& lengths, const CostModel& cost_set,
                     const Cluster& cluster_value)
    : sample(by_descending_length(lengths)), cost_model(cost_set), cost(cost_set), cluster(cluster_value) {
  has_places = cost.num_heads > 0 || cost.has_nodes(cluster.num_slots);
  for (int64_t index : sample) {
    tokens.push_back(lengths[size_t(index)]);
    whole_ns.push_back(cost.whole(tokens.back()));
    const int64_t cap = cluster.tokens_per_slot, fewest = (tokens.back() + cap - 1) / cap;
    int64_t work = whole_ns.back(), usual = work;
    if (fewest > 1) {
      constexpr int64_t kAnyTime = int64_t(1) << 61;
      work = has_places ? bound_of_sample(cost, cluster, tokens.back(), kAnyTime).work
                        : std::max(work, least_split_work(cost, tokens.back(), fewest));
      usual = INT64_MAX;
      const int64_t most = has_places ? std::min(2 * fewest + 8, cluster.num_slots) : fewest;
      for (int64_t cp = fewest; cp <= most; ++cp)
        usual = std::min(usual, cp * cost.even_ring(tokens.back(), cp));
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
  WaveSearch search(batch);
  search.run({.coarse = 6, .ring_sizes = 4});
  // Good enough: 0.2 % above the mean of all slots. Else a wider search, the wider the fewer the items.
  int64_t mean = batch.total_ns / cluster.num_slots;
  if (batch.has_places) mean = std::max(mean, lower_bound(lengths, cost, cluster) - batch.cost.allreduce);
  const auto is_good = [&] { return search.best_ns() <= mean + mean / 512; };
  if (batch.has_places && !is_good()) search.run({.coarse = 6, .style = {.on_nodes = true}});
  if (batch.num_items() <= kMediumBatch) {
    const size_t width = batch.num_items() <= kSmallBatch ? 8 : 2;
    if (!is_good()) search.run({.width = width});
    if (!is_good()) search.run({.width = width, .style = {.waste_sixteenths = 16}});
    if (batch.has_places && !is_good())
      search.run({.width = width, .style = {.waste_sixteenths = 16, .on_nodes = true}});
    if (!is_good()) search.run({.width = width, .fewest_slots = true, .style = {.waste_sixteenths = 16}});
    if (!is_good() && batch.num_items() <= kSmallBatch)
      search.run({.width = 8, .style = {.short_shards = true}});
  }
  return search.best_plan();
}

}  // namespace zoetrope
