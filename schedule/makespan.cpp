// Runs a plan on paper: when does each rank finish?
#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/fixed_cost.h"

namespace zoetrope {
namespace {

// Note [Ring mates end together]
// A wave runs layer by layer, and in each layer ring mates need each other's K and V. So mates begin a wave
// together, when the last of them is free, and end it together, when the busiest of them is done: a rank with
// a short shard and nothing else waits in every layer. The same holds along chains of rings that share a
// rank. A wave's set of ranks that are tied so is one component.

int root_of(std::vector<int>& parent, int slot) {
  while (parent[size_t(slot)] != slot) slot = parent[size_t(slot)] = parent[size_t(parent[size_t(slot)])];
  return slot;
}

/// Adds the time of each ring member; equal blocks are counted together.
void add_ring(const RingView& ring, const FixedCost& cost, std::vector<int64_t>& busy) {
  std::vector<std::pair<int64_t, int64_t>> sizes;  // (block tokens, how many)
  for (int64_t tokens : ring.tokens) {
    const auto same =
        std::find_if(sizes.begin(), sizes.end(), [&](const auto& size) { return size.first == tokens; });
    if (same == sizes.end()) sizes.emplace_back(tokens, 1);
    else ++same->second;
  }
  for (size_t i = 0; i < ring.members.size(); ++i) {
    int64_t time = cost.own(ring.tokens[i]) - cost.remote(ring.tokens[i], ring.tokens[i]);
    for (const auto& [tokens, count] : sizes) time += count * cost.remote(ring.tokens[i], tokens);
    busy[size_t(ring.members[i])] += time;
  }
}

/// Busy nanoseconds per slot of a wave; ties the slots of each ring in `parent`.
void add_wave(const Wave& wave, const FixedCost& cost, std::vector<int64_t>& busy, std::vector<int>& parent) {
  const std::vector<RingView> rings = split_samples(wave);
  std::vector<bool> is_ring(rings.empty() ? 0 : size_t(rings.back().sample) + 1, false);
  for (const RingView& ring : rings) is_ring[size_t(ring.sample)] = true;
  for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
    const auto& shards = wave.slots[slot];
    if (!shards.empty()) busy[slot] += cost.wave;
    for (size_t i = 0; i < shards.size(); ++i) {
      const size_t sample = size_t(shards[i].sample);
      if (sample < is_ring.size() && is_ring[sample]) continue;
      busy[slot] += cost.whole(shards[i].num_tokens());
      for (size_t j = 0; j < i; ++j)  // several ranges of an unsplit sample attend to each other
        if (shards[j].sample == shards[i].sample)
          busy[slot] +=
              2 * FixedCost::scale_up(cost.quadratic, shards[i].num_tokens() * shards[j].num_tokens());
    }
  }
  for (const RingView& ring : rings) {
    add_ring(ring, cost, busy);
    for (int member : ring.members)
      parent[size_t(root_of(parent, member))] = root_of(parent, ring.members[0]);
  }
}

}  // namespace

Makespan makespan_of(const Plan& plan, const CostModel& cost_model) {
  const FixedCost cost(cost_model);
  const size_t num_slots = size_t(plan.num_slots());
  Makespan result;
  result.busy_ns.assign(num_slots, 0);
  std::vector<int64_t> free_at(num_slots, 0), busy(num_slots), start(num_slots), length(num_slots);
  std::vector<int> parent(num_slots);
  for (const Wave& wave : plan.waves) {
    std::fill(busy.begin(), busy.end(), 0);
    std::fill(start.begin(), start.end(), 0);
    std::fill(length.begin(), length.end(), 0);
    std::iota(parent.begin(), parent.end(), 0);
    add_wave(wave, cost, busy, parent);
    for (size_t slot = 0; slot < num_slots; ++slot) {
      const size_t root = size_t(root_of(parent, int(slot)));
      start[root] = std::max(start[root], free_at[slot]);
      length[root] = std::max(length[root], busy[slot]);
    }
    for (size_t slot = 0; slot < num_slots; ++slot) {
      const size_t root = size_t(root_of(parent, int(slot)));
      free_at[slot] = start[root] + length[root];
      result.busy_ns[slot] += busy[slot];
    }
  }
  int64_t sum = 0, most = 0;
  for (size_t slot = 0; slot < num_slots; ++slot) {
    result.total_ns = std::max(result.total_ns, free_at[slot]);
    most = std::max(most, result.busy_ns[slot]);
    sum += result.busy_ns[slot];
  }
  if (num_slots > 0) result.total_ns += cost.allreduce;
  if (sum > 0) result.max_over_mean = double(most) * double(num_slots) / double(sum);
  return result;
}

}  // namespace zoetrope
