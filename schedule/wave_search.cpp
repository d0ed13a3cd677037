// Waves in lock-step: a beam search over the levels of waves, one after another.
#include "schedule/wave_search.h"

#include <algorithm>
#include <numeric>

namespace zoetrope {

std::vector<FilledWave> WaveSearch::run(const FreeItems& items, const WaveEffort& effort, int64_t limit_ns,
                                        int64_t most_looks) {
  effort_ = effort;
  filler_.set_style(effort.style);
  start_work_ns_ = items.work_ns;
  best_ns_ = limit_ns;
  best_.clear();
  links_.clear();
  std::vector<Partial> beam{{items, 0, -1}};
  while (!beam.empty() && num_looks() <= most_looks) {
    children_.clear();
    for (const Partial& partial : beam) {
      try_last_wave(partial);
      try_levels(partial);
    }
    beam = keep_best();
  }
  return std::move(best_);
}

/// Orders by time per work, exactly.
bool WaveSearch::is_better(const Partial& a, const Partial& b) const {
  return __int128(a.elapsed_ns) * (start_work_ns_ - b.free.work_ns) <
         __int128(b.elapsed_ns) * (start_work_ns_ - a.free.work_ns);
}

std::vector<WaveSearch::Partial> WaveSearch::keep_best() {
  std::vector<size_t> order(children_.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return is_better(children_[a].partial, children_[b].partial); });
  std::vector<Partial> beam;
  for (size_t i : order) {
    Child& child = children_[i];
    if (beam.size() == effort_.width) break;
    if (child.partial.elapsed_ns + mean_left(child.partial) >= best_ns_) continue;
    const bool known = std::any_of(beam.begin(), beam.end(), [&](const Partial& other) {
      return other.elapsed_ns == child.partial.elapsed_ns && other.free.work_ns == child.partial.free.work_ns;
    });
    if (known) continue;
    links_.push_back({child.partial.last_wave, std::move(child.wave)});
    child.partial.last_wave = int(links_.size()) - 1;
    beam.push_back(std::move(child.partial));
  }
  return beam;
}

void WaveSearch::offer(const Partial& before, FilledWave wave) {
  if (before.elapsed_ns + wave.length_ns >= best_ns_) return;
  best_ns_ = before.elapsed_ns + wave.length_ns;
  best_.clear();
  best_.push_back(std::move(wave));
  for (int link = before.last_wave; link >= 0; link = links_[size_t(link)].before)
    best_.push_back(links_[size_t(link)].wave);
  std::reverse(best_.begin(), best_.end());
}

void WaveSearch::try_last_wave(const Partial& partial) {
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
void WaveSearch::try_levels(const Partial& partial) {
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

std::vector<int64_t> WaveSearch::first_levels(const Partial& partial) const {
  const Cluster& cluster = batch_.cluster;
  const FixedCost& cost = batch_.cost;
  const int64_t item = FreeItems(partial.free).first_from(0), tokens = batch_.tokens[size_t(item)];
  const auto even_ns = [&](int64_t cp) { return batch_.even(item, cp).slowest; };
  const int64_t cap = cluster.tokens_per_slot, fewest = (tokens + cap - 1) / cap;
  // Slots full of tokens as dense as the longest item's need no higher level, unless it is a slow ring.
  const int64_t segments = std::min(cluster.segments_per_slot > 0 ? cluster.segments_per_slot : cap,
                                    cap / batch_.tokens.back() + 1);
  const int64_t dense = (cost.own(tokens) - cost.segment) / tokens * cap + segments * cost.segment;
  int64_t level =
      std::max(std::min(partial.free.work_ns / cluster.num_slots, dense), even_ns(fewest)) + cost.wave;
  std::vector<int64_t> levels;
  if (effort_.fewest_slots) {
    const int64_t least = even_ns(fewest) + cost.wave;
    for (int i = 0; i < effort_.coarse; ++i) levels.push_back(least + (level - least) * i / effort_.coarse);
    for (int64_t percent : {1, 2, 4, 8}) levels.push_back(least + least * percent / 100);
  } else {
    for (int i = 0; i < effort_.coarse; ++i, level -= level / 5) levels.push_back(level);
    const int64_t most = std::min(cluster.num_slots, tokens);
    for (int64_t cp = fewest; cp < fewest + effort_.ring_sizes && cp <= most; ++cp)
      levels.push_back(even_ns(cp) + cost.wave);
    if (batch_.has_places)
      for (int64_t cp = most, least = INT64_MAX; cp >= fewest; --cp) {
        const int64_t ns = even_ns(cp);
        if (cp * ns >= least) continue;
        least = cp * ns;
        levels.push_back(ns + cost.wave);
      }
  }
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

void WaveSearch::try_level(const Partial& partial, int64_t level) {
  Child child{partial, {}, level};
  child.wave = filler_.fill(child.partial.free, level, WaveGoal::kSome);
  if (child.wave.pieces.empty()) return;
  if (child.partial.free.count == 0) return offer(partial, std::move(child.wave));
  child.partial.elapsed_ns += child.wave.length_ns;
  children_.push_back(std::move(child));
}

}  // namespace zoetrope
