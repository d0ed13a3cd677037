// Runs a plan on paper: when does each rank finish?
#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/fixed_cost.h"
#include "schedule/ring_price.h"

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

/// True when two shards are of one sample.
bool has_repeats(const std::vector<Shard>& shards) {
  std::vector<int64_t> samples;
  samples.reserve(shards.size());
  for (const Shard& shard : shards) samples.push_back(shard.sample);
  std::sort(samples.begin(), samples.end());
  return std::adjacent_find(samples.begin(), samples.end()) != samples.end();
}

/// Adds the busy nanoseconds of each slot in a wave.
void add_wave(const Wave& wave, const std::vector<RingView>& rings, const FixedCost& cost,
              std::vector<int64_t>& busy) {
  const std::vector<bool> is_ring = split_flags(rings);
  for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
    const auto& shards = wave.slots[slot];
    if (!shards.empty()) busy[slot] += cost.wave;
    const bool repeats = has_repeats(shards);
    for (size_t i = 0; i < shards.size(); ++i) {
      const size_t sample = size_t(shards[i].sample);
      if (sample < is_ring.size() && is_ring[sample]) continue;
      busy[slot] += cost.whole(shards[i].num_tokens());
      for (size_t j = 0; repeats && j < i; ++j)  // several ranges of an unsplit sample attend to each other
        if (shards[j].sample == shards[i].sample)
          busy[slot] +=
              2 * FixedCost::scale_up(cost.quadratic, shards[i].num_tokens() * shards[j].num_tokens());
    }
  }
  ZT_CHECK(wave.rings.size() == rings.size(), "a wave lists ", wave.rings.size(), " rings and has ",
           rings.size());
  for (size_t r = 0; r < rings.size(); ++r) {
    const std::vector<int64_t> times = ring_ns(cost, wave.rings[r].exchange, rings[r]);
    for (size_t i = 0; i < times.size(); ++i) busy[size_t(rings[r].members[i])] += times[i];
  }
}

/// Free-running ranks: starts a wave on each rank when the rank and its ring mates are free.
class WaveRunner {
 public:
  WaveRunner(size_t num_slots, bool tied)
      : tied_(tied), parent_(num_slots), start_(num_slots), length_(num_slots) {}

  /// Moves `free_at` of each slot to the end of the wave.
  void run(const std::vector<RingView>& rings, const std::vector<int64_t>& busy,
           std::vector<int64_t>& free_at) {
    tied_ ? run_tied(rings, busy, free_at) : run_untied(rings, busy, free_at);
  }

 private:
  void run_tied(const std::vector<RingView>& rings, const std::vector<int64_t>& busy,
                std::vector<int64_t>& free_at) {
    std::fill(start_.begin(), start_.end(), 0);
    std::fill(length_.begin(), length_.end(), 0);
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const RingView& ring : rings)
      for (int member : ring.members)
        parent_[size_t(root_of(parent_, member))] = root_of(parent_, ring.members[0]);
    for (size_t slot = 0; slot < free_at.size(); ++slot) {
      const size_t root = size_t(root_of(parent_, int(slot)));
      start_[root] = std::max(start_[root], free_at[slot]);
      length_[root] = std::max(length_[root], busy[slot]);
    }
    for (size_t slot = 0; slot < free_at.size(); ++slot) {
      const size_t root = size_t(root_of(parent_, int(slot)));
      free_at[slot] = start_[root] + length_[root];
    }
  }

  void run_untied(const std::vector<RingView>& rings, const std::vector<int64_t>& busy,
                  std::vector<int64_t>& free_at) {
    start_ = free_at;
    for (const RingView& ring : rings) {
      int64_t all_free = 0;
      for (int member : ring.members) all_free = std::max(all_free, free_at[size_t(member)]);
      for (int member : ring.members) start_[size_t(member)] = std::max(start_[size_t(member)], all_free);
    }
    for (size_t slot = 0; slot < free_at.size(); ++slot)
      if (busy[slot] > 0) free_at[slot] = start_[slot] + busy[slot];
  }

  bool tied_;
  std::vector<int> parent_;
  std::vector<int64_t> start_, length_;
};

}  // namespace

Makespan makespan_of(const Plan& plan, const CostModel& cost_model, Execution execution) {
  const FixedCost cost(cost_model);
  const size_t num_slots = size_t(plan.num_slots());
  Makespan result;
  result.busy_ns.assign(num_slots, 0);
  std::vector<int64_t> free_at(num_slots, 0), busy(num_slots);
  WaveRunner runner(num_slots, cost_model.mates_end_together);
  for (const Wave& wave : plan.waves) {
    std::fill(busy.begin(), busy.end(), 0);
    const std::vector<RingView> rings = split_samples(wave);
    add_wave(wave, rings, cost, busy);
    if (execution == Execution::kWaves) {
      const int64_t end = num_slots > 0 ? free_at[0] + *std::max_element(busy.begin(), busy.end()) : 0;
      std::fill(free_at.begin(), free_at.end(), end);
    } else {
      runner.run(rings, busy, free_at);
    }
    for (size_t slot = 0; slot < num_slots; ++slot) result.busy_ns[slot] += busy[slot];
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
