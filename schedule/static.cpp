// The baselines with one context-parallel size: in arrival order, and sorted with longest processing time
// first.
#include "schedule/static.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/even_shards.h"
#include "schedule/fixed_cost.h"
#include "schedule/planner.h"
#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

/// The micro-batches of one group of `cp` slots; every sample lies on all of them, evenly, so that the first
/// member holds the most tokens and segments.
class Group {
 public:
  struct Micro {
    std::vector<int64_t> samples;
    int64_t tokens = 0, segments = 0;  ///< of the first member
  };

  /// Puts a sample of which the first member holds `own` tokens in the last wave, or opens one when the caps
  /// forbid it.
  Micro& append(const Cluster& cluster, int64_t own) {
    if (waves_.empty() || !fits(cluster, waves_.back(), own)) waves_.emplace_back();
    return put(waves_.back(), own);
  }
  /// Puts it in the first wave with room; the first member holds at least `least` of every sample to come.
  Micro& place(const Cluster& cluster, int64_t own, int64_t least) {
    while (first_open_ < waves_.size() && !fits(cluster, waves_[first_open_], least)) ++first_open_;
    for (size_t w = first_open_; w < waves_.size(); ++w)
      if (fits(cluster, waves_[w], own)) return put(waves_[w], own);
    waves_.emplace_back();
    return put(waves_.back(), own);
  }
  const std::vector<Micro>& waves() const { return waves_; }

 private:
  static bool fits(const Cluster& cluster, const Micro& wave, int64_t own) {
    return wave.tokens + own <= cluster.tokens_per_slot &&
           (cluster.segments_per_slot == 0 || wave.segments < cluster.segments_per_slot);
  }
  static Micro& put(Micro& wave, int64_t own) {
    wave.tokens += own;
    ++wave.segments;
    return wave;
  }

  std::vector<Micro> waves_;
  size_t first_open_ = 0;
};

void check_cp_size(const std::vector<int64_t>& lengths, const Cluster& cluster, int64_t cp) {
  ZT_REQUIRE(cp > 0 && cluster.num_slots % cp == 0, "static plan: CP size ", cp, " does not divide ",
             cluster.num_slots, " ranks");
  for (size_t i = 0; i < lengths.size(); ++i)
    ZT_REQUIRE((lengths[i] + cp - 1) / cp <= cluster.tokens_per_slot, "static plan: sample ", i, " has ",
               lengths[i], " tokens, CP size ", cp, " with ", cluster.tokens_per_slot,
               " tokens per rank holds ", cp * cluster.tokens_per_slot,
               "; use a larger --cp, more memory per rank, or --planner elastic");
}

/// Writes a group's micro-batch on its slots.
void write_micro(const Group::Micro& micro, const std::vector<int64_t>& lengths, int64_t cp,
                 size_t first_slot, Wave& wave) {
  for (int64_t member = 0; member < cp; ++member) {
    auto& shards = wave.slots[first_slot + size_t(member)];
    shards.reserve(micro.samples.size());
    for (int64_t sample : micro.samples) {
      const int64_t tokens = lengths[size_t(sample)], own = even_tokens(tokens, cp, member);
      const int64_t begin = member * (tokens / cp) + std::min(member, tokens % cp);
      if (own > 0) shards.push_back({sample, begin, begin + own});
    }
  }
  for (int64_t sample : micro.samples)
    if (cp > 1 && lengths[size_t(sample)] > 1) wave.rings.push_back({sample, Exchange::kRing});
}

Plan join_groups(const std::vector<Group>& groups, const std::vector<int64_t>& lengths, int64_t cp) {
  size_t num_waves = 0;
  for (const Group& group : groups) num_waves = std::max(num_waves, group.waves().size());
  Plan plan;
  plan.waves.resize(num_waves, {std::vector<std::vector<Shard>>(groups.size() * size_t(cp)), {}});
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t w = 0; w < groups[g].waves().size(); ++w)
      write_micro(groups[g].waves()[w], lengths, cp, g * size_t(cp), plan.waves[w]);
  for (Wave& wave : plan.waves) order_rings(wave, lengths);
  return plan;
}

/// Groups by finish time, the first of the least first.
class GroupQueue {
 public:
  explicit GroupQueue(int64_t num_groups) {
    for (int64_t g = 0; g < num_groups; ++g) heap_.emplace_back(0, g);  // equal times: a heap already
  }
  /// The group that is free first; it is busy for `ns` more. Returns its new finish too.
  std::pair<int64_t, int64_t> take(int64_t ns) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    std::pair<int64_t, int64_t>& group = heap_.back();
    group.first += ns;
    const std::pair<int64_t, int64_t> taken = group;
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    return taken;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> heap_;
};

/// Sorted samples, each to the group that is free first.
std::vector<Group> balanced_groups(const std::vector<int64_t>& lengths, const FixedCost& cost,
                                   const Cluster& cluster, int64_t cp) {
  std::vector<Group> groups(size_t(cluster.num_slots / cp));
  GroupQueue queue(int64_t(groups.size()));
  const std::vector<int64_t> order = by_descending_length(lengths);
  const int64_t least = order.empty() ? 0 : even_tokens(lengths[size_t(order.back())], cp, 0);
  for (int64_t sample : order) {
    const int64_t tokens = lengths[size_t(sample)];
    const auto [finish, group] = queue.take(cost.even_shard(tokens, cp));
    groups[size_t(group)].place(cluster, even_tokens(tokens, cp, 0), least).samples.push_back(sample);
  }
  return groups;
}

/// Adds what each member of an even ring takes, on one node.
void add_even_ring(const FixedCost& cost, int64_t tokens, std::vector<int64_t>& busy) {
  const int64_t cp = int64_t(busy.size()), own = tokens / cp, num_large = tokens % cp;
  if (cp == 1) {
    busy[0] += cost.whole(tokens);
    return;
  }
  const int64_t small =
      cost.own(own) + num_large * cost.remote(own, own + 1) + (cp - num_large - 1) * cost.remote(own, own);
  const int64_t large = cost.own(own + 1) + (num_large - 1) * cost.remote(own + 1, own + 1) +
                        (cp - num_large) * cost.remote(own + 1, own);
  for (int64_t member = 0; member < cp; ++member) busy[size_t(member)] += member < num_large ? large : small;
}

/// Makespan of free-running groups whose samples all have a token for every member, as `makespan_of` has it.
int64_t makespan_of_groups(const std::vector<Group>& groups, const std::vector<int64_t>& lengths,
                           const FixedCost& cost, bool mates_end_together, int64_t cp) {
  int64_t total = 0;
  for (const Group& group : groups) {
    std::vector<int64_t> free_at(size_t(cp), 0), busy(size_t(cp), 0);
    for (const Group::Micro& micro : group.waves()) {
      std::fill(busy.begin(), busy.end(), cost.wave);
      for (int64_t sample : micro.samples) add_even_ring(cost, lengths[size_t(sample)], busy);
      const int64_t start = *std::max_element(free_at.begin(), free_at.end());
      const int64_t most = *std::max_element(busy.begin(), busy.end());
      for (size_t member = 0; member < busy.size(); ++member)
        free_at[member] = start + (mates_end_together ? most : busy[member]);
    }
    total = std::max(total, *std::max_element(free_at.begin(), free_at.end()));
  }
  return total + cost.allreduce;
}

}  // namespace

Plan plan_static(const std::vector<int64_t>& lengths, const Cluster& cluster, int64_t cp) {
  check_cp_size(lengths, cluster, cp);
  std::vector<Group> groups(size_t(cluster.num_slots / cp));
  for (size_t i = 0; i < lengths.size(); ++i)
    groups[i % groups.size()].append(cluster, even_tokens(lengths[i], cp, 0)).samples.push_back(int64_t(i));
  return join_groups(groups, lengths, cp);
}

Plan plan_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                          const Cluster& cluster, int64_t cp) {
  check_cp_size(lengths, cluster, cp);
  const FixedCost cost(cost_model);
  Plan plan = join_groups(balanced_groups(lengths, cost, cluster, cp), lengths, cp);
  choose_exchanges(plan, cost);
  return plan;
}

// Short samples first, which lose most by being split; the others count as whole.
bool work_exceeds(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost, const Cluster& cluster,
                  int64_t cp, int64_t give_up_ns) {
  const __int128 most = static_cast<__int128>(give_up_ns) * cluster.num_slots;
  __int128 work = 0;
  for (int64_t tokens : sorted_lengths) work += cost.whole(tokens);
  int64_t excess = 0;
  for (size_t i = sorted_lengths.size(); i-- > 0 && work <= most;) {
    const int64_t tokens = sorted_lengths[i];
    if (i + 1 == sorted_lengths.size() || tokens != sorted_lengths[i + 1])
      excess = cp > 1 && tokens >= cp ? least_split_work(cost, tokens, cp) - cost.whole(tokens) : 0;
    work += excess;
  }
  return work > most;
}

namespace {

/// Least time that the members of a group spend on a sample, on average, in 1 / cp ns.
int64_t least_mean_ns(const FixedCost& cost, int64_t tokens, int64_t cp) {
  return cp > 1 && tokens >= cp ? least_split_work(cost, tokens, cp) : cost.whole(tokens);
}

/// The same promise as `least_static_balanced_ns` where rings may have several schemes and places: which ones
/// a group has is not known before it lies somewhere, but its slowest member takes the mean at least.
int64_t least_with_schemes(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                           const Cluster& cluster, int64_t cp, int64_t give_up_ns) {
  if (work_exceeds(sorted_lengths, cost, cluster, cp, give_up_ns - cost.allreduce)) return give_up_ns;
  const int64_t num_groups = cluster.num_slots / cp;
  GroupQueue queue(num_groups);
  std::vector<int64_t> mean(static_cast<size_t>(num_groups), 0);
  int64_t time = 0, least = 0, most = 0;
  for (size_t i = 0; i < sorted_lengths.size(); ++i) {
    if (i == 0 || sorted_lengths[i] != sorted_lengths[i - 1]) {
      time = cost.even_shard(sorted_lengths[i], cp);
      least = least_mean_ns(cost, sorted_lengths[i], cp);
    }
    int64_t& group = mean[size_t(queue.take(time).second)];
    most = std::max(most, group += least);
    if (most / cp >= give_up_ns) return give_up_ns;
  }
  return most / cp + cost.allreduce;
}

}  // namespace

int64_t least_static_balanced_ns(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                                 const Cluster& cluster, int64_t cp, int64_t give_up_ns) {
  if (cost.num_heads > 0) return least_with_schemes(sorted_lengths, cost, cluster, cp, give_up_ns);
  const int64_t num_groups = cluster.num_slots / cp;
  __int128 work = 0;
  int64_t time = 0;
  for (size_t i = 0; i < sorted_lengths.size(); ++i) {
    if (i == 0 || sorted_lengths[i] != sorted_lengths[i - 1]) time = cost.even_shard(sorted_lengths[i], cp);
    work += time;
    if (work > static_cast<__int128>(give_up_ns) * num_groups) return give_up_ns;
  }
  std::vector<Group> groups(static_cast<size_t>(num_groups));
  GroupQueue queue(num_groups);
  const int64_t least = sorted_lengths.empty() ? 0 : even_tokens(sorted_lengths.back(), cp, 0);
  int64_t total = 0;
  for (size_t i = 0; i < sorted_lengths.size(); ++i) {
    const int64_t tokens = sorted_lengths[i];
    if (i == 0 || tokens != sorted_lengths[i - 1]) time = cost.even_shard(tokens, cp);
    const auto [finish, index] = queue.take(time);
    Group& group = groups[size_t(index)];
    group.place(cluster, even_tokens(tokens, cp, 0), least);
    total = std::max(total, finish + int64_t(group.waves().size()) * cost.wave);
    if (total >= give_up_ns) return give_up_ns;
  }
  return total + cost.allreduce;
}

StaticChoice best_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                                  const Cluster& cluster, int64_t below_ns, int64_t most_shards) {
  const FixedCost cost(cost_model);
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::pair<int64_t, int64_t>> by_least;  // (time at least, CP size): the promising ones first
  for (int64_t cp : feasible_cp_sizes(lengths, cluster))
    if (int64_t(lengths.size()) <= most_shards / cp)
      by_least.emplace_back(least_static_balanced_ns(sorted, cost, cluster, cp, below_ns), cp);
  std::sort(by_least.begin(), by_least.end());
  const bool by_groups = cluster.execution == Execution::kFree && !sorted.empty() && cost.num_heads == 0 &&
                         !cost.has_nodes(cluster.num_slots);
  StaticChoice best{0, below_ns, {}};
  for (const auto& [least, cp] : by_least) {
    if (least > best.total_ns || (best.cp == 0 && least == best.total_ns)) break;
    const std::vector<Group> groups = balanced_groups(lengths, cost, cluster, cp);
    const auto better = [&](int64_t total) {
      return total < best.total_ns || (total == best.total_ns && cp < best.cp);
    };
    if (by_groups && sorted.back() >= cp) {
      const int64_t total = makespan_of_groups(groups, lengths, cost, cost_model.mates_end_together, cp);
      if (better(total)) best = {cp, total, join_groups(groups, lengths, cp)};
      continue;
    }
    Plan plan = join_groups(groups, lengths, cp);
    choose_exchanges(plan, cost);
    const int64_t total = makespan_of(plan, cost_model, cluster.execution).total_ns;
    if (better(total)) best = {cp, total, std::move(plan)};
  }
  return best;
}

namespace {

/// The least that a static plan in arrival order takes: its fullest group's least work, over its members.
int64_t least_static_ns(const std::vector<int64_t>& lengths, const FixedCost& cost, const Cluster& cluster,
                        int64_t cp) {
  std::vector<int64_t> work(size_t(cluster.num_slots / cp), 0);
  int64_t last = 0, last_work = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] != last) last = lengths[i], last_work = least_mean_ns(cost, last, cp);
    work[i % work.size()] += last_work;
  }
  return *std::max_element(work.begin(), work.end()) / cp + cost.allreduce;
}

}  // namespace

StaticChoice best_static(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                         const Cluster& cluster) {
  const FixedCost cost(cost_model);
  std::vector<std::pair<int64_t, int64_t>> by_least;  // as above
  for (int64_t cp : feasible_cp_sizes(lengths, cluster))
    by_least.emplace_back(least_static_ns(lengths, cost, cluster, cp), cp);
  std::sort(by_least.begin(), by_least.end());
  StaticChoice best{0, INT64_MAX, {}};
  for (const auto& [least, cp] : by_least) {
    if (least > best.total_ns) break;
    Plan plan = plan_static(lengths, cluster, cp);
    choose_exchanges(plan, cost);
    const int64_t total = makespan_of(plan, cost_model, cluster.execution).total_ns;
    if (total < best.total_ns || (total == best.total_ns && cp < best.cp))
      best = {cp, total, std::move(plan)};
  }
  return best;
}

std::vector<int64_t> feasible_cp_sizes(const std::vector<int64_t>& lengths, const Cluster& cluster) {
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  std::vector<int64_t> sizes;
  for (int64_t cp = 1; cp <= cluster.num_slots; ++cp)
    if (cluster.num_slots % cp == 0 && (longest + cp - 1) / cp <= cluster.tokens_per_slot)
      sizes.push_back(cp);
  return sizes;
}

}  // namespace zoetrope
