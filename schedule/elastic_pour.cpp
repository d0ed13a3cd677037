// Elastic planner, poured waves: the samples of a wave fill all ranks to one level; a sample that fits no
// rank whole is poured over several, as much on each as its room takes. All begin and end together, so uneven
// shards cost nothing.
#include <algorithm>
#include <numeric>

#include "schedule/bound.h"
#include "schedule/elastic.h"

namespace zoetrope {
namespace {

/// One wave, filled up to a level.
class PouredWave {
 public:
  PouredWave(const ElasticBatch& batch, const PourOptions& options)
      : batch_(batch), options_(options), slots_(size_t(batch.cluster.num_slots)) {}

  /// Places all `items` (ranks in the batch, ascending: longest first) below `level` ns. False: no room.
  bool pour(const std::vector<int64_t>& items, int64_t level) {
    level_ = level;
    for (Slot& slot : slots_) slot = Slot{batch_.cost.wave, 0, {}};
    std::vector<int64_t> held, left;
    for (int64_t item : items) {
      if (must_split(item)) {
        if (!split(item)) return false;
      } else if (int64_t(held.size()) < options_.held_back) {
        held.push_back(item);
      } else if (!place_whole(item)) {
        left.push_back(item);
      }
    }
    held.insert(held.end(), left.begin(), left.end());
    for (int64_t item : held)
      if (!split(item) && !place_whole(item)) return false;
    return true;
  }

  /// Nanoseconds of the fullest slot.
  int64_t used_ns() const {
    int64_t most = 0;
    for (const Slot& slot : slots_)
      if (!slot.shards.empty()) most = std::max(most, slot.time);
    return most;
  }

  Wave to_wave() const {
    Wave wave;
    for (const Slot& slot : slots_) {
      wave.slots.push_back(slot.shards);
      for (Shard& shard : wave.slots.back()) shard.sample = batch_.sample[size_t(shard.sample)];
    }
    return wave;
  }

 private:
  struct Slot {
    int64_t time = 0, tokens = 0;
    std::vector<Shard> shards;
  };
  struct Room {
    int64_t tokens;
    int slot;
  };

  bool must_split(int64_t item) const {
    return batch_.tokens[size_t(item)] > batch_.cluster.tokens_per_slot ||
           batch_.whole_ns[size_t(item)] + batch_.cost.wave > level_;
  }
  void put(int slot_index, const Shard& shard, int64_t ns) {
    Slot& slot = slots_[size_t(slot_index)];
    slot.time += ns;
    slot.tokens += shard.num_tokens();
    slot.shards.push_back(shard);
  }
  bool full(const Slot& slot) const { return int64_t(slot.shards.size()) >= batch_.segment_cap(); }

  /// Best fit: the slot that it fills most.
  bool place_whole(int64_t item) {
    const int64_t tokens = batch_.tokens[size_t(item)], work = batch_.whole_ns[size_t(item)];
    int best = -1;
    for (int s = 0; s < int(slots_.size()); ++s) {
      const Slot& slot = slots_[size_t(s)];
      if (slot.time + work > level_ || slot.tokens + tokens > batch_.cluster.tokens_per_slot || full(slot))
        continue;
      if (best < 0 || slot.time > slots_[size_t(best)].time) best = s;
    }
    if (best >= 0) put(best, {item, 0, tokens}, work);
    return best >= 0;
  }

  /// Slots by how much of the sample they take, largest first, on a ring of `cp`.
  std::vector<Room> rooms(int64_t tokens, int64_t cp) const {
    std::vector<Room> result;
    for (int s = 0; s < int(slots_.size()); ++s) {
      const Slot& slot = slots_[size_t(s)];
      if (full(slot)) continue;
      const int64_t most = std::min(batch_.cluster.tokens_per_slot - slot.tokens, tokens - 1);
      const int64_t time = level_ - slot.time - batch_.cost.latency * (cp - 2);
      const int64_t room = largest_shard(batch_.cost, tokens, most, time);
      if (room > 0) result.push_back({room, s});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Room& a, const Room& b) { return a.tokens > b.tokens; });
    return result;
  }

  /// Pours a sample over the fewest slots that take it.
  bool split(int64_t item) {
    const int64_t tokens = batch_.tokens[size_t(item)];
    for (int64_t cp = 2; cp <= std::min(batch_.cluster.num_slots, tokens);) {
      const std::vector<Room> room = rooms(tokens, cp);
      int64_t sum = 0, needed = 0;
      while (needed < int64_t(room.size()) && sum < tokens) sum += room[size_t(needed++)].tokens;
      if (sum < tokens) return false;
      if (needed <= cp) {
        put_ring(item, {room.begin(), room.begin() + needed}, sum);
        return true;
      }
      cp = needed;
    }
    return false;
  }

  void put_ring(int64_t item, const std::vector<Room>& room, int64_t sum) {
    const int64_t tokens = batch_.tokens[size_t(item)];
    std::vector<int64_t> own(room.size());
    int64_t left = tokens;
    for (size_t i = 0; i < room.size(); ++i) {
      own[i] = options_.proportional ? int64_t(static_cast<__int128>(tokens) * room[i].tokens / sum)
                                     : std::min(left, room[i].tokens);
      left -= own[i];
    }
    for (size_t i = 0; left > 0; i = (i + 1) % own.size())
      if (own[i] < room[i].tokens) ++own[i], --left;
    int64_t begin = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] == 0) continue;
      int64_t ns = batch_.cost.own(own[i]);
      for (size_t j = 0; j < own.size(); ++j)
        if (j != i && own[j] > 0) ns += batch_.cost.remote(own[i], own[j]);
      put(room[i].slot, {item, begin, begin + own[i]}, ns);
      begin += own[i];
    }
  }

  const ElasticBatch& batch_;
  const PourOptions& options_;
  int64_t level_ = 0;
  std::vector<Slot> slots_;
};

/// Samples to waves, longest first, each to the wave with the fewest tokens: waves stay alike.
std::vector<std::vector<int64_t>> deal_to_waves(const ElasticBatch& batch, int64_t num_waves) {
  std::vector<std::vector<int64_t>> waves(static_cast<size_t>(num_waves));
  std::vector<int64_t> tokens(size_t(num_waves), 0);
  for (int64_t item = 0; item < batch.num_samples(); ++item) {
    const size_t wave = size_t(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
    waves[wave].push_back(item);
    tokens[wave] += batch.tokens[size_t(item)];
  }
  return waves;
}

/// The lowest level found for the wave's items: gallop from the mean up, then bisect.
std::optional<Wave> pour_lowest(const ElasticBatch& batch, const PourOptions& options,
                                const std::vector<int64_t>& items) {
  int64_t work = 0;
  for (int64_t item : items) work += batch.whole_ns[size_t(item)];
  const int64_t mean = work / batch.cluster.num_slots + batch.cost.wave;
  PouredWave poured(batch, options);
  std::optional<Wave> best;
  int64_t best_ns = INT64_MAX, excess = std::max<int64_t>(1, mean / 1024), low = 0;
  const auto attempt = [&](int64_t over) {
    if (!poured.pour(items, mean + over)) return false;
    if (poured.used_ns() < best_ns) {
      best_ns = poured.used_ns();
      best = poured.to_wave();
    }
    return true;
  };
  for (int doubling = 0; !attempt(excess); ++doubling) {
    if (doubling == 20) return std::nullopt;
    low = excess;
    excess *= 2;
  }
  for (int round = 0; round < 5; ++round) {
    const int64_t middle = low + (excess - low) / 2;
    (attempt(middle) ? excess : low) = middle;
  }
  return best;
}

}  // namespace

std::optional<Plan> plan_poured(const ElasticBatch& batch, const PourOptions& options) {
  Plan plan;
  for (const std::vector<int64_t>& items : deal_to_waves(batch, options.num_waves)) {
    if (items.empty()) continue;
    std::optional<Wave> wave = pour_lowest(batch, options, items);
    if (!wave) return std::nullopt;
    plan.waves.push_back(*std::move(wave));
  }
  list_rings(plan);
  return plan;
}

}  // namespace zoetrope
