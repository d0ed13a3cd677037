// CP size per micro-batch: one size for all split samples of a wave, any size, chosen by the cost model.
#include <algorithm>
#include <optional>
#include <queue>

#include "schedule/even_shards.h"
#include "schedule/fixed_cost.h"
#include "schedule/planner.h"
#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

// Note [One size per wave]
// A wave of size c has floor(G / c) groups of c neighbouring slots with even shards; slots left over hold
// whole samples. Two ways are tried, and the faster prediction is the plan.
// In turn: for every size, leftovers by descending length go to the lane (group or slot left over) that ends
// first, up to the number of them at which time per work is least; then shorter ones join where they don't
// lengthen the wave. The size with least time per work makes the wave, and so on with what is left.
// By target: a sample's size is the least of a list at which it ends within a target time. Sizes fall with
// length, so that equal ones are neighbours and make a wave, or several where the caps forbid one; a lane
// starts when its slots are free. Targets are eighths of the bound from an eighth to twice it, lists the
// pool's divisors, its halves rounded down, and all sizes. This is the better way where ranks run free.

/// Sizes that are tried: all up to 64, then eight per doubling, and the whole pool.
std::vector<int64_t> sizes_to_try(int64_t num_slots) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1, step = 1; size < num_slots; size += step) {
    sizes.push_back(size);
    if (size >= 64 && size >= 16 * step) step *= 2;
  }
  sizes.push_back(num_slots);
  return sizes;
}

/// Slots that work on the same samples of a wave.
struct Lane {
  int64_t first_slot, size, end_ns;
  int64_t tokens = 0, segments = 0;
};

/// The lanes of one wave while it is filled.
class Lanes {
 public:
  /// Every lane starts when its slots are free; `whole` opens the slots left over, for whole samples.
  Lanes(const Cluster& cluster, const FixedCost& cost, int64_t size, bool whole,
        const std::vector<int64_t>& free_at)
      : cluster_(cluster), cost_(cost) {
    int64_t slot = 0;
    for (; slot + size <= cluster.num_slots; slot += size) add(groups_, slot, size, free_at);
    for (; whole && slot < cluster.num_slots; ++slot) add(slots_, slot, 1, free_at);
  }
  /// Puts the sample where it ends first, if that is by `limit_ns`. Returns the lane, -1: nowhere.
  int place(int64_t tokens, int64_t limit_ns) {
    const int64_t ring_ns = cost_.even_ring(tokens, lanes_[0].size);
    const int64_t whole_ns = cost_.whole(tokens);
    const std::optional<Entry> group = first_with_room(groups_, tokens, limit_ns - ring_ns);
    const std::optional<Entry> slot = first_with_room(slots_, tokens, limit_ns - whole_ns);
    if (!group && !slot) return -1;
    const bool to_group = group && (!slot || group->first + ring_ns <= slot->first + whole_ns);
    if (group) groups_.push({group->first + (to_group ? ring_ns : 0), group->second});
    if (slot) slots_.push({slot->first + (to_group ? 0 : whole_ns), slot->second});
    const int index = to_group ? group->second : slot->second;
    Lane& lane = lanes_[size_t(index)];
    lane.end_ns += to_group ? ring_ns : whole_ns;
    lane.tokens += even_tokens(tokens, lane.size, 0);
    ++lane.segments;
    return index;
  }
  const Lane& operator[](size_t index) const { return lanes_[index]; }
  size_t size() const { return lanes_.size(); }

 private:
  using Entry = std::pair<int64_t, int>;  // (end, lane)
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  void add(Queue& queue, int64_t first_slot, int64_t size, const std::vector<int64_t>& free_at) {
    const auto begin = free_at.begin() + first_slot;
    const int64_t start = *std::max_element(begin, begin + size) + cost_.wave;
    queue.push({start, int(lanes_.size())});
    lanes_.push_back({first_slot, size, start});
  }
  /// Takes from the queue the lane that is free first, by `latest_ns`, and has room for the sample; of the
  /// first few only, so that long queues stay cheap.
  std::optional<Entry> first_with_room(Queue& queue, int64_t tokens, int64_t latest_ns) {
    constexpr int kTries = 16;
    std::optional<Entry> found;
    passed_.clear();
    while (!found && !queue.empty() && int(passed_.size()) < kTries && queue.top().first <= latest_ns) {
      const Entry entry = queue.top();
      queue.pop();
      const Lane& lane = lanes_[size_t(entry.second)];
      if (lane.tokens + even_tokens(tokens, lane.size, 0) <= cluster_.tokens_per_slot &&
          (cluster_.segments_per_slot == 0 || lane.segments < cluster_.segments_per_slot))
        found = entry;
      else passed_.push_back(entry);
    }
    for (const Entry& entry : passed_) queue.push(entry);
    return found;
  }

  const Cluster& cluster_;
  const FixedCost& cost_;
  std::vector<Lane> lanes_;
  Queue groups_, slots_;
  std::vector<Entry> passed_;
};

struct Sample {
  int64_t number, tokens;
};

/// A way to fill the next wave: which leftovers go to which lane.
struct Trial {
  int64_t size = 0, time_ns = 0;
  __int128 work_ns = 0;
  std::vector<int> lane;  ///< by leftover; -1: it stays
  /// Less time per work; of equals the one that does more.
  bool better_than(const Trial& other) const {
    const __int128 mine = time_ns * other.work_ns, theirs = other.time_ns * work_ns;
    return mine < theirs || (mine == theirs && work_ns > other.work_ns);
  }
};

class DynamicPlanner {
 public:
  DynamicPlanner(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster)
      : cost_(cost), cluster_(cluster) {
    for (int64_t sample : by_descending_length(lengths))
      samples_.push_back({sample, lengths[size_t(sample)]});
  }

  /// Wave after wave, the size with least time per work.
  Plan plan_in_turn() const {
    Plan plan;
    std::vector<Sample> leftovers = samples_;
    const std::vector<int64_t> idle(size_t(cluster_.num_slots), 0);
    while (!leftovers.empty()) {
      Trial best;
      for (int64_t size : sizes_to_try(cluster_.num_slots)) {
        Trial trial = fill(leftovers, size, idle);
        if (trial.size > 0 && (best.size == 0 || trial.better_than(best))) best = std::move(trial);
      }
      const Lanes lanes(cluster_, cost_, best.size, true, idle);
      Wave& wave = open_wave(plan, cluster_.num_slots);
      std::vector<Sample> later;
      for (size_t i = 0; i < leftovers.size(); ++i)
        if (best.lane[i] < 0) later.push_back(leftovers[i]);
        else put(wave, lanes[size_t(best.lane[i])], leftovers[i]);
      leftovers = std::move(later);
    }
    list_rings(plan);
    choose_exchanges(plan, cost_);
    return plan;
  }

  /// Sizes of the ascending list `sizes` by what each sample needs to end within `target_ns`.
  Plan plan_by_target(const std::vector<int64_t>& sizes, int64_t target_ns) const {
    Plan plan;
    std::vector<int64_t> free_at(size_t(cluster_.num_slots), 0);
    std::vector<int64_t> size_of;
    for (const Sample& sample : samples_) size_of.push_back(size_within(sizes, sample.tokens, target_ns));
    for (size_t begin = 0; begin < samples_.size();) {
      const int64_t size = size_of[begin];
      Lanes lanes(cluster_, cost_, size, false, free_at);
      Wave& wave = open_wave(plan, cluster_.num_slots);
      std::vector<bool> used(lanes.size(), false);
      for (; begin < samples_.size() && size_of[begin] == size; ++begin) {
        const int lane = lanes.place(samples_[begin].tokens, INT64_MAX);
        if (lane < 0) break;
        used[size_t(lane)] = true;
        put(wave, lanes[size_t(lane)], samples_[begin]);
      }
      for (size_t i = 0; i < lanes.size(); ++i)
        if (used[i]) std::fill_n(free_at.begin() + lanes[i].first_slot, lanes[i].size, lanes[i].end_ns);
    }
    list_rings(plan);
    choose_exchanges(plan, cost_);
    return plan;
  }

 private:
  /// The best number of leftovers for a wave of that size, and what fits beside them; size 0: the first of
  /// them fits no lane.
  Trial fill(const std::vector<Sample>& leftovers, int64_t size, const std::vector<int64_t>& idle) const {
    Trial now, best;
    size_t count = 0;
    Lanes trial_lanes(cluster_, cost_, size, true, idle);
    for (size_t i = 0; i < leftovers.size(); ++i) {
      const int lane = trial_lanes.place(leftovers[i].tokens, INT64_MAX);
      if (lane < 0) break;
      now.time_ns = std::max(now.time_ns, trial_lanes[size_t(lane)].end_ns);
      now.work_ns += cost_.whole(leftovers[i].tokens);
      if (count == 0 || now.better_than(best)) best = now, count = i + 1;
    }
    if (count == 0) return {};
    best.size = size;
    best.lane.assign(leftovers.size(), -1);
    Lanes lanes(cluster_, cost_, size, true, idle);
    for (size_t i = 0; i < leftovers.size(); ++i) {
      best.lane[i] = lanes.place(leftovers[i].tokens, i < count ? INT64_MAX : best.time_ns);
      if (i >= count && best.lane[i] >= 0) best.work_ns += cost_.whole(leftovers[i].tokens);
    }
    return best;
  }
  /// Least size at which the sample keeps the cap and ends within the target; the fastest if none does.
  int64_t size_within(const std::vector<int64_t>& sizes, int64_t tokens, int64_t target_ns) const {
    int64_t fastest = cluster_.num_slots, least_ns = INT64_MAX;
    for (int64_t size : sizes) {
      if (even_tokens(tokens, size, 0) > cluster_.tokens_per_slot) continue;
      const int64_t time = cost_.even_ring(tokens, size);
      if (time <= target_ns) return size;
      if (time < least_ns) fastest = size, least_ns = time;
    }
    return fastest;
  }
  static void put(Wave& wave, const Lane& lane, const Sample& sample) {
    put_even(wave, lane.first_slot, lane.size, sample.number, sample.tokens);
  }

  FixedCost cost_;
  Cluster cluster_;
  std::vector<Sample> samples_;
};

/// The pool's divisors; its halves rounded down; all sizes.
std::vector<std::vector<int64_t>> size_lists(int64_t num_slots) {
  std::vector<int64_t> divisors, halves;
  for (int64_t size = 1; size <= num_slots; ++size)
    if (num_slots % size == 0) divisors.push_back(size);
  for (int64_t size = num_slots; size > 0; size /= 2) halves.insert(halves.begin(), size);
  return {divisors, halves, sizes_to_try(num_slots)};
}

}  // namespace

Plan plan_dynamic(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster) {
  check_batch(lengths, cluster);
  if (lengths.empty()) return {};
  const DynamicPlanner planner(lengths, cost, cluster);
  Plan best = planner.plan_in_turn();
  int64_t best_ns = makespan_of(best, cost, cluster.execution).total_ns;
  const int64_t bound_ns = lower_bound(lengths, cost, cluster);
  for (const std::vector<int64_t>& sizes : size_lists(cluster.num_slots))
    for (int64_t eighths = 1; eighths <= 16; ++eighths) {
      Plan plan = planner.plan_by_target(sizes, bound_ns / 8 * eighths);
      const int64_t total_ns = makespan_of(plan, cost, cluster.execution).total_ns;
      if (total_ns < best_ns) best = std::move(plan), best_ns = total_ns;
    }
  return best;
}

}  // namespace zoetrope
