// Waves in lock-step: pours one item over several slots of the wave being filled.
#include <algorithm>

#include "schedule/bound.h"
#include "schedule/ring_price.h"
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
  if (batch_.has_places && !style_.uneven && pour_evenly(item, most_slots, most_ns)) return true;
  if (pour_unevenly(item, most_slots, most_ns)) return true;
  return batch_.has_places && style_.uneven && pour_evenly(item, most_slots, most_ns);
}

/// As much on every slot as it has room for, over the fewest of the emptiest.
bool WaveFiller::pour_unevenly(int64_t item, int64_t most_slots, int64_t most_ns) {
  const int64_t tokens = batch_.tokens[size_t(item)];
  assume_between_ = false;
  for (int64_t cp = 2; cp <= most_slots;) {
    if (!find_rooms(tokens, most_slots, cp)) return false;
    const int64_t needed = int64_t(rooms_.size());
    const bool good = needed <= cp && settle(item, most_ns);
    for (const Room& room : rooms_) push(room.slot);
    if (good) return true;
    if (needed <= cp) {
      if (!batch_.has_places || assume_between_) return false;
      assume_between_ = true;  // again with the links between nodes
      cp = 2;
      continue;
    }
    cp = needed;  // a larger ring has more exchange steps
  }
  return false;
}

/// Evenly over the fewest slots that end below the level, with the cheapest scheme.
bool WaveFiller::pour_evenly(int64_t item, int64_t most_slots, int64_t most_ns) {
  const int64_t tokens = batch_.tokens[size_t(item)], cap = batch_.cluster.tokens_per_slot;
  int attempts = 0;
  constexpr int kAttempts = 16;  // ring sizes for which slots are looked for
  for (int64_t cp = std::max<int64_t>(2, (tokens + cap - 1) / cap); cp <= most_slots && attempts < kAttempts;
       ++cp) {
    const EvenPrices::Price& price = batch_.even(item, cp);
    const int64_t ns = price.slowest, most = (tokens + cp - 1) / cp;
    if (ns > level_ - batch_.cost.wave) continue;
    if (most_ns != INT64_MAX && cp * price.first > most_ns) continue;
    ++attempts;
    num_looks_ += int64_t(slots_.size());
    if (!(style_.on_nodes ? find_nodes(cp, most, ns) : find_emptiest(cp, most, ns))) continue;
    if (!settle(item, most_ns)) continue;
    heap_.clear();
    for (int slot = 0; slot < int(slots_.size()); ++slot)
      if (slots_[size_t(slot)].ns < level_) push(slot);
    return true;
  }
  return false;
}

/// The emptiest slots for an even ring of `ns`, wherever they are; false: there are none.
bool WaveFiller::find_emptiest(int64_t cp, int64_t tokens, int64_t ns) {
  rooms_.clear();
  for (int slot = 0; slot < int(slots_.size()); ++slot) {
    const Slot& value = slots_[size_t(slot)];
    if (value.ns + ns <= level_ && !is_full(value) && value.tokens + tokens <= batch_.cluster.tokens_per_slot)
      rooms_.push_back({tokens, slot});
  }
  if (int64_t(rooms_.size()) < cp) return false;
  std::stable_sort(rooms_.begin(), rooms_.end(), [&](const Room& a, const Room& b) {
    return slots_[size_t(a.slot)].ns < slots_[size_t(b.slot)].ns;
  });
  rooms_.resize(size_t(cp));
  return true;
}

/// The emptiest slots for an even ring of `ns`, on as few nodes as it can lie; false: there are none.
bool WaveFiller::find_nodes(int64_t cp, int64_t tokens, int64_t ns) {
  const int64_t num_slots = batch_.cluster.num_slots, size = std::min(batch_.cost.ranks_per_node, num_slots);
  const RingPlace place = cheapest_place(batch_.cost, cp * tokens, cp);
  const int64_t per_node = place.per_node > 0 ? place.per_node : size;
  struct Node {
    int64_t ns;
    std::vector<int> slots;
  };
  std::vector<Node> nodes;
  for (int64_t first = 0; first < num_slots; first += size) {
    Node node{0, {}};
    for (int64_t slot = first; slot < std::min(first + size, num_slots); ++slot) {
      const Slot& value = slots_[size_t(slot)];
      if (value.ns + ns <= level_ && !is_full(value) &&
          value.tokens + tokens <= batch_.cluster.tokens_per_slot)
        node.slots.push_back(int(slot));
    }
    std::stable_sort(node.slots.begin(), node.slots.end(),
                     [&](int a, int b) { return slots_[size_t(a)].ns < slots_[size_t(b)].ns; });
    if (place.per_node > 0 && int64_t(node.slots.size()) < per_node) continue;
    if (node.slots.empty()) continue;
    // A node with just enough slots left comes first, so that whole nodes stay free for larger rings.
    node.ns = int64_t(node.slots.size());
    nodes.push_back(std::move(node));
  }
  std::stable_sort(nodes.begin(), nodes.end(), [&](const Node& a, const Node& b) {
    return place.per_node > 0 ? a.ns < b.ns : a.ns > b.ns;
  });
  rooms_.clear();
  for (const Node& node : nodes)
    for (int64_t i = 0; i < std::min(per_node, int64_t(node.slots.size())) && int64_t(rooms_.size()) < cp;
         ++i)
      rooms_.push_back({tokens, node.slots[size_t(i)]});
  return int64_t(rooms_.size()) == cp;
}

/// Over the slots with most room, whatever it wastes.
bool WaveFiller::pour_anywhere(int64_t item) {
  const int64_t tokens = batch_.tokens[size_t(item)];
  assume_between_ = batch_.has_places;
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

/// Tokens of the item that the slot takes, on a ring of `cp`. Slots asked for one after another are often
/// alike.
int64_t WaveFiller::room_of(const Slot& slot, int64_t tokens, int64_t cp) {
  const RoomQuestion question{std::min(batch_.cluster.tokens_per_slot - slot.tokens, tokens - 1),
                              level_ - slot.ns, tokens, cp, assume_between_};
  if (question == last_question_) return last_room_;
  last_question_ = question;
  const FixedCost& cost = batch_.cost;
  return last_room_ = assume_between_
                          ? largest_shard(cost, tokens, question.most, question.ns,
                                          {cost.transfer_between, cost.latency_between, cp, cp}, cp)
                          : largest_shard(cost, tokens, question.most, question.ns, cp);
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
  if (style_.short_shards && cost.num_heads == 0) {
    least = 1;
  } else if (cost.quadratic > 0 && cost.num_heads == 0) {
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

/// False when the shards take too long together, or one ends well above the level.
bool WaveFiller::price(int64_t most_ns) {
  if (batch_.has_places) {
    num_looks_ += 4 * int64_t(rooms_.size());  // pricing a ring takes so much longer
    RingView ring;
    for (size_t i = 0; i < rooms_.size(); ++i)
      if (shards_[i] > 0) ring.members.push_back(rooms_[i].slot), ring.tokens.push_back(shards_[i]);
    const std::vector<int64_t> ns = ring_ns(batch_.cost, cheapest_exchange(batch_.cost, ring).exchange, ring);
    shard_ns_.assign(shards_.size(), 0);
    for (size_t i = 0, member = 0; i < rooms_.size(); ++i)
      if (shards_[i] > 0) shard_ns_[i] = ns[member++];
  } else {
    price_blocks();
  }
  int64_t sum = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i] > 0 && slots_[size_t(rooms_[i].slot)].ns + shard_ns_[i] > level_ + level_ / 1024)
      return false;
    sum += shard_ns_[i];
  }
  return sum <= most_ns;
}

/// Nanoseconds of every shard on a ring, equal blocks counted together.
void WaveFiller::price_blocks() {
  const FixedCost& cost = batch_.cost;
  same_sizes_.clear();
  for (int64_t tokens : shards_) {
    if (tokens == 0) continue;
    if (!same_sizes_.empty() && same_sizes_.back().first == tokens) ++same_sizes_.back().second;
    else same_sizes_.emplace_back(tokens, 1);
  }
  shard_ns_.assign(shards_.size(), 0);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i] == 0) continue;
    if (i > 0 && shards_[i] == shards_[i - 1]) {
      shard_ns_[i] = shard_ns_[i - 1];
      continue;
    }
    shard_ns_[i] = cost.own(shards_[i]) - cost.remote(shards_[i], shards_[i]);
    for (const auto& [tokens, count] : same_sizes_) shard_ns_[i] += count * cost.remote(shards_[i], tokens);
  }
}

}  // namespace zoetrope
