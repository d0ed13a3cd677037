// Waves in lock-step: pours one item over several slots of the wave being filled.
#include <algorithm>

#include "schedule/bound.h"
#include "schedule/waves.h"

namespace zoetrope {

/// Over the fewest of the emptiest slots, at most `most_slots`, that hold it below the level; its shards take
/// at most `most_ns` together.
bool WaveFiller::pour(int64_t item, int64_t most_slots, int64_t most_ns) {
  const int64_t tokens = batch_.tokens[size_t(item)];
  const int64_t num_slots = batch_.cluster.num_slots;
  if (tokens > num_slots * batch_.cluster.tokens_per_slot - used_tokens_ ||
      __int128(batch_.whole_ns[size_t(item)]) > __int128(num_slots) * level_ - used_ns_)
    return false;  // seen without a look at the slots
  most_slots = std::min({most_slots, tokens, num_slots});
  for (int64_t cp = 2; cp <= most_slots;) {
    if (!find_rooms(tokens, most_slots, cp)) return false;
    const int64_t needed = int64_t(rooms_.size());
    const bool good = needed <= cp && settle(item, most_ns);
    for (const Room& room : rooms_) push(room.slot);
    if (good) return true;
    if (needed <= cp) return false;
    cp = needed;  // a larger ring has more exchange steps
  }
  return false;
}

/// Over the slots with most room, whatever it wastes.
bool WaveFiller::pour_anywhere(int64_t item) {
  const int64_t tokens = batch_.tokens[size_t(item)];
  for (int64_t cp = 1; cp <= std::min(tokens, batch_.cluster.num_slots);) {
    rooms_.clear();
    for (int slot = 0; slot < int(slots_.size()); ++slot) {
      const Slot& value = slots_[size_t(slot)];
      if (is_full(value)) continue;
      if (cp == 1 && value.tokens + tokens <= batch_.cluster.tokens_per_slot &&
          value.ns + batch_.whole_ns[size_t(item)] <= level_) {
        put(item, slot, tokens, batch_.whole_ns[size_t(item)]);
        wave_.work_ns += batch_.work_ns[size_t(item)];
        return true;
      }
      const int64_t room = room_of(value, tokens, std::max<int64_t>(2, cp));
      if (room > 0) rooms_.push_back({room, slot});
    }
    std::stable_sort(rooms_.begin(), rooms_.end(),
                     [](const Room& a, const Room& b) { return a.tokens > b.tokens; });
    int64_t sum = 0;
    size_t needed = 0;
    while (needed < rooms_.size() && sum < tokens) sum += rooms_[needed++].tokens;
    if (sum < tokens) return false;
    rooms_.resize(needed);
    if (int64_t(needed) <= std::max<int64_t>(2, cp)) return settle(item, INT64_MAX);
    cp = int64_t(needed);
  }
  return false;
}

/// Puts the item into `rooms_` unless that takes too long.
bool WaveFiller::settle(int64_t item, int64_t most_ns) {
  spread(batch_.tokens[size_t(item)]);
  if (!price(most_ns)) return false;
  for (size_t i = 0; i < rooms_.size(); ++i) {
    if (shards_[i] == 0) continue;
    put(item, rooms_[i].slot, shards_[i], shard_ns_[i]);
    level_ = std::max(level_, slots_[size_t(rooms_[i].slot)].ns);
  }
  wave_.work_ns += batch_.work_ns[size_t(item)];
  return true;
}

/// Tokens of the item that the slot takes, on a ring of `cp`.
int64_t WaveFiller::room_of(const Slot& slot, int64_t tokens, int64_t cp) const {
  return largest_shard(batch_.cost, tokens,
                       std::min(batch_.cluster.tokens_per_slot - slot.tokens, tokens - 1), level_ - slot.ns,
                       cp);
}

/// Takes the emptiest slots that together hold the item off the heap; false, with the heap as before, when
/// there are none.
bool WaveFiller::find_rooms(int64_t tokens, int64_t most_slots, int64_t cp) {
  rooms_.clear();
  aside_.clear();
  int64_t sum = 0;
  while (sum < tokens && !heap_.empty() && int64_t(rooms_.size()) < most_slots) {
    const int slot = heap_.top();
    const Slot& value = slots_[size_t(slot)];
    const int64_t room = room_of(value, tokens, cp);
    if (room < 1 && room_of(Slot{value.ns, 0, 0}, tokens, cp) < 1) break;  // no time: nor have the others
    heap_.pop();
    if (room < 1) {
      aside_.push_back(slot);
      continue;
    }
    sum += room;
    rooms_.push_back({room, slot});
  }
  for (int slot : aside_) push(slot);
  if (sum >= tokens) return true;
  for (const Room& room : rooms_) push(room.slot);
  return false;
}

/// Fills the rooms in order, but leaves each as many tokens as hide its transfers, or an even share.
void WaveFiller::spread(int64_t tokens) {
  const FixedCost& cost = batch_.cost;
  const int64_t even = std::max<int64_t>(1, tokens / int64_t(rooms_.size()));
  int64_t least = even;
  if (style_.short_shards) {
    least = 1;
  } else if (cost.quadratic > 0) {
    const __int128 steps = (__int128(cost.latency) << 32) / cost.quadratic / even;
    least = int64_t(std::min<__int128>(even, steps + cost.transfer / cost.quadratic + 1));
  }
  shards_.resize(rooms_.size());
  int64_t left = tokens;
  for (size_t i = 0; i < rooms_.size(); ++i) left -= shards_[i] = std::min(rooms_[i].tokens, least);
  for (size_t i = 0; i < rooms_.size() && left > 0; ++i) {
    const int64_t more = std::min(left, rooms_[i].tokens - shards_[i]);
    shards_[i] += more;
    left -= more;
  }
}

/// Nanoseconds of every shard; false when they take too long together, or one ends well above the level.
bool WaveFiller::price(int64_t most_ns) {
  const FixedCost& cost = batch_.cost;
  same_sizes_.clear();
  for (int64_t tokens : shards_) {
    if (tokens == 0) continue;
    if (!same_sizes_.empty() && same_sizes_.back().first == tokens) ++same_sizes_.back().second;
    else same_sizes_.emplace_back(tokens, 1);
  }
  shard_ns_.assign(shards_.size(), 0);
  int64_t sum = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i] == 0) continue;
    if (i > 0 && shards_[i] == shards_[i - 1]) shard_ns_[i] = shard_ns_[i - 1];
    else {
      shard_ns_[i] = cost.own(shards_[i]) - cost.remote(shards_[i], shards_[i]);
      for (const auto& [tokens, count] : same_sizes_) shard_ns_[i] += count * cost.remote(shards_[i], tokens);
    }
    if (slots_[size_t(rooms_[i].slot)].ns + shard_ns_[i] > level_ + level_ / 1024) return false;
    sum += shard_ns_[i];
  }
  return sum <= most_ns;
}

}  // namespace zoetrope
