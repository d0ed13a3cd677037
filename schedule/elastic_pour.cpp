// Elastic planner, poured waves: the samples of a wave fill all ranks to one level; a sample that fits no
// rank whole is poured over several, as much on each as its room takes. All begin and end together, so uneven
// shards cost nothing.
#include <algorithm>
#include <climits>
#include <set>

#include "schedule/bound.h"
#include "schedule/elastic.h"

namespace zoetrope {
namespace {

constexpr int kMostPassed = 32;  // slots without room for its tokens that a whole sample passes over

/// One wave, filled up to a level. Slots are kept by time; those that are still empty are not listed.
class PouredWave {
 public:
  PouredWave(const ElasticBatch& batch, const PourOptions& options)
      : batch_(batch), options_(options), slots_(size_t(batch.cluster.num_slots)) {}

  /// Places all `items` (ranks in the batch, ascending: longest first) below `level` ns. False: no room.
  bool pour(const std::vector<int64_t>& items, int64_t level) {
    level_ = level;
    pieces_.clear();
    by_time_.clear();
    std::fill(slots_.begin(), slots_.begin() + num_used_, Slot{});
    num_used_ = 0;
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
    for (int s = 0; s < num_used_; ++s) most = std::max(most, slots_[size_t(s)].time);
    return most + batch_.cost.wave;
  }

  Wave to_wave() const {
    Wave wave{std::vector<std::vector<Shard>>(slots_.size()), {}};
    for (const auto& [slot, shard] : pieces_)
      wave.slots[size_t(slot)].push_back({batch_.sample[size_t(shard.sample)], shard.begin, shard.end});
    return wave;
  }

 private:
  struct Slot {
    int64_t time = 0, tokens = 0, segments = 0;  ///< without the wave's overhead
  };
  struct Room {
    int64_t tokens;
    int slot;
  };

  int64_t most_ns() const { return level_ - batch_.cost.wave; }
  bool must_split(int64_t item) const {
    return batch_.tokens[size_t(item)] > batch_.cluster.tokens_per_slot ||
           batch_.whole_ns[size_t(item)] > most_ns();
  }
  void put(int index, const Shard& shard, int64_t ns) {
    Slot& slot = slots_[size_t(index)];
    if (slot.segments > 0) by_time_.erase({slot.time, index});
    num_used_ = std::max(num_used_, index + 1);
    slot.time += ns;
    slot.tokens += shard.num_tokens();
    ++slot.segments;
    by_time_.insert({slot.time, index});
    pieces_.emplace_back(index, shard);
  }
  bool full(const Slot& slot) const { return slot.segments >= batch_.segment_cap(); }
  bool takes(const Slot& slot, int64_t tokens) const {
    return slot.tokens + tokens <= batch_.cluster.tokens_per_slot && !full(slot);
  }

  /// Best fit: the slot that it fills most, or the first empty one.
  bool place_whole(int64_t item) {
    const int64_t tokens = batch_.tokens[size_t(item)], work = batch_.whole_ns[size_t(item)];
    auto at = by_time_.upper_bound({most_ns() - work, INT_MAX});
    for (int passed = 0; at != by_time_.begin() && passed < kMostPassed; ++passed) {
      --at;
      if (const int slot = at->second; takes(slots_[size_t(slot)], tokens)) {
        put(slot, {item, 0, tokens}, work);
        return true;
      }
    }
    if (num_used_ == int(slots_.size()) || work > most_ns()) return false;
    put(num_used_, {item, 0, tokens}, work);
    return true;
  }

  /// Slots that together take the sample, the emptiest first, on a ring of `cp`. Returns what they take.
  int64_t find_rooms(int64_t tokens, int64_t cp, std::vector<Room>& rooms) const {
    int64_t sum = 0, last_time = -1, last_most = 0, last_room = 0;
    rooms.clear();
    const auto add = [&](int index) {
      const Slot& slot = slots_[size_t(index)];
      const int64_t most =
          full(slot) ? 0 : std::min(batch_.cluster.tokens_per_slot - slot.tokens, tokens - 1);
      if (most <= 0) return true;
      if (slot.time != last_time || most != last_most) {
        last_room = largest_shard(batch_.cost, tokens, most, most_ns() - slot.time, cp);
        last_time = slot.time;
        last_most = most;
      }
      if (last_room == 0) return false;  // nor do later ones have the time
      rooms.push_back({last_room, index});
      sum += last_room;
      return sum < tokens;
    };
    for (int index = num_used_; index < int(slots_.size()); ++index)
      if (!add(index)) return sum;
    for (const auto& [time, index] : by_time_)
      if (!add(index)) break;
    return sum;
  }

  /// Pours a sample over the fewest slots that take it.
  bool split(int64_t item) {
    const int64_t tokens = batch_.tokens[size_t(item)];
    std::vector<Room> rooms;
    for (int64_t cp = 2; cp <= std::min(batch_.cluster.num_slots, tokens);) {
      const int64_t sum = find_rooms(tokens, cp, rooms);
      if (sum < tokens) return false;
      if (int64_t(rooms.size()) <= cp) {
        put_ring(item, rooms, sum);
        return true;
      }
      cp = int64_t(rooms.size());
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
    const std::vector<int64_t> times = ring_times(own, batch_.cost);
    int64_t begin = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] > 0) put(room[i].slot, {item, begin, begin + own[i]}, times[i]);
      begin += own[i];
    }
  }

  const ElasticBatch& batch_;
  const PourOptions& options_;
  int64_t level_ = 0;
  std::vector<Slot> slots_;
  int num_used_ = 0;  ///< slots from here on are empty
  std::set<std::pair<int64_t, int>> by_time_;
  std::vector<std::pair<int, Shard>> pieces_;  ///< with their slots
};

/// Samples to waves, longest first, each to the wave with the fewest tokens: waves stay alike.
std::vector<std::vector<int64_t>> deal_to_waves(const ElasticBatch& batch, int64_t num_waves) {
  std::vector<std::vector<int64_t>> waves(static_cast<size_t>(num_waves));
  std::vector<std::pair<int64_t, int64_t>> heap;  // (tokens, wave)
  for (int64_t wave = 0; wave < num_waves; ++wave) heap.emplace_back(0, wave);
  for (int64_t item = 0; item < batch.num_samples(); ++item) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    waves[size_t(heap.back().second)].push_back(item);
    heap.back().first += batch.tokens[size_t(item)];
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  return waves;
}

/// The lowest level found for the wave's items: gallop from the mean up, then bisect. Nothing when they do
/// not fit at any.
std::optional<Wave> pour_lowest(const ElasticBatch& batch, const PourOptions& options,
                                const std::vector<int64_t>& items) {
  constexpr int kMostDoublings = 20;
  int64_t work = 0;
  for (int64_t item : items) work += batch.whole_ns[size_t(item)];
  const int64_t mean = work / batch.cluster.num_slots + batch.cost.wave;
  PouredWave poured(batch, options);
  std::optional<Wave> best;
  int64_t best_ns = INT64_MAX, excess = std::max<int64_t>(1, mean / 1024), low = 0;
  if (!poured.pour(items, mean + (excess << kMostDoublings))) return std::nullopt;
  const auto attempt = [&](int64_t over) {
    if (!poured.pour(items, mean + over)) return false;
    if (poured.used_ns() < best_ns) {
      best_ns = poured.used_ns();
      best = poured.to_wave();
    }
    return true;
  };
  for (int doubling = 0; !attempt(excess); ++doubling) {
    if (doubling == kMostDoublings) return std::nullopt;
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
