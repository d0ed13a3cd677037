// The baselines with one context-parallel size: in arrival order, and sorted with longest processing time
// first.
#include "schedule/static.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/fixed_cost.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

/// Tokens and segments that member `member` of an even split over `cp` slots holds.
int64_t even_tokens(int64_t tokens, int64_t cp, int64_t member) {
  return tokens / cp + (member < tokens % cp ? 1 : 0);
}

/// The micro-batches of one group of `cp` slots; every sample lies on all of them, evenly.
class Group {
 public:
  Group(const Cluster& cluster, int64_t cp) : cluster_(cluster), cp_(cp) {}

  /// Puts the sample in the last wave, or opens one when the cap forbids it.
  void append(int64_t sample, int64_t tokens) {
    if (waves_.empty() || !fits(waves_.back(), tokens)) waves_.emplace_back(size_t(cp_));
    put(waves_.back(), sample, tokens);
  }
  /// Puts the sample in the first wave with room.
  void place(int64_t sample, int64_t tokens) {
    for (GroupWave& wave : waves_)
      if (fits(wave, tokens)) return put(wave, sample, tokens);
    waves_.emplace_back(size_t(cp_));
    put(waves_.back(), sample, tokens);
  }
  /// Copies the group's waves into the plan, from `first_slot` on.
  void write(Plan& plan, int64_t first_slot) const {
    for (size_t w = 0; w < waves_.size(); ++w) {
      if (plan.waves.size() <= w)
        plan.waves.push_back({std::vector<std::vector<Shard>>(size_t(cluster_.num_slots)), {}});
      for (size_t member = 0; member < size_t(cp_); ++member)
        plan.waves[w].slots[size_t(first_slot) + member] = waves_[w].shards[member];
    }
  }

 private:
  struct GroupWave {
    explicit GroupWave(size_t cp) : shards(cp), tokens(cp, 0) {}
    std::vector<std::vector<Shard>> shards;
    std::vector<int64_t> tokens;
  };
  bool fits(const GroupWave& wave, int64_t tokens) const {
    for (int64_t member = 0; member < cp_; ++member) {
      const int64_t own = even_tokens(tokens, cp_, member);
      if (own == 0) break;
      if (wave.tokens[size_t(member)] + own > cluster_.tokens_per_slot) return false;
      if (cluster_.segments_per_slot > 0 &&
          int64_t(wave.shards[size_t(member)].size()) >= cluster_.segments_per_slot)
        return false;
    }
    return true;
  }
  void put(GroupWave& wave, int64_t sample, int64_t tokens) const {
    int64_t begin = 0;
    for (int64_t member = 0; member < cp_; ++member) {
      const int64_t own = even_tokens(tokens, cp_, member);
      if (own == 0) break;
      wave.shards[size_t(member)].push_back({sample, begin, begin + own});
      wave.tokens[size_t(member)] += own;
      begin += own;
    }
  }

  const Cluster& cluster_;
  int64_t cp_;
  std::vector<GroupWave> waves_;
};

std::vector<Group> make_groups(const std::vector<int64_t>& lengths, const Cluster& cluster, int64_t cp) {
  ZT_REQUIRE(cp > 0 && cluster.num_slots % cp == 0, "static plan: CP size ", cp, " does not divide ",
             cluster.num_slots, " ranks");
  for (size_t i = 0; i < lengths.size(); ++i)
    ZT_REQUIRE((lengths[i] + cp - 1) / cp <= cluster.tokens_per_slot, "static plan: sample ", i, " has ",
               lengths[i], " tokens, CP size ", cp, " with ", cluster.tokens_per_slot,
               " tokens per rank holds ", cp * cluster.tokens_per_slot,
               "; use a larger --cp, more memory per rank, or --planner elastic");
  return std::vector<Group>(size_t(cluster.num_slots / cp), Group(cluster, cp));
}

Plan join_groups(const std::vector<Group>& groups, int64_t cp) {
  Plan plan;
  for (size_t g = 0; g < groups.size(); ++g) groups[g].write(plan, int64_t(g) * cp);
  list_rings(plan);
  return plan;
}

}  // namespace

Plan plan_static(const std::vector<int64_t>& lengths, const Cluster& cluster, int64_t cp) {
  std::vector<Group> groups = make_groups(lengths, cluster, cp);
  for (size_t i = 0; i < lengths.size(); ++i) groups[i % groups.size()].append(int64_t(i), lengths[i]);
  return join_groups(groups, cp);
}

Plan plan_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                          const Cluster& cluster, int64_t cp) {
  const FixedCost cost(cost_model);
  std::vector<Group> groups = make_groups(lengths, cluster, cp);
  std::vector<int64_t> finish(groups.size(), 0), order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[size_t(a)] > lengths[size_t(b)]; });
  for (int64_t sample : order) {
    const size_t group = size_t(std::min_element(finish.begin(), finish.end()) - finish.begin());
    finish[group] += cost.even_shard(lengths[size_t(sample)], cp);
    groups[group].place(sample, lengths[size_t(sample)]);
  }
  return join_groups(groups, cp);
}

int64_t least_static_balanced_ns(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                                 const Cluster& cluster, int64_t cp) {
  struct GroupSum {
    int64_t finish = 0;
    std::vector<std::pair<int64_t, int64_t>> waves;
  };  // (tokens, segments)
  std::vector<GroupSum> groups(size_t(cluster.num_slots / cp));
  for (int64_t tokens : sorted_lengths) {
    GroupSum& group =
        *std::min_element(groups.begin(), groups.end(),
                          [](const GroupSum& a, const GroupSum& b) { return a.finish < b.finish; });
    group.finish += cost.even_shard(tokens, cp);
    const int64_t own = even_tokens(tokens, cp, 0);
    auto wave = std::find_if(group.waves.begin(), group.waves.end(), [&](const auto& at) {
      return at.first + own <= cluster.tokens_per_slot &&
             (cluster.segments_per_slot == 0 || at.second < cluster.segments_per_slot);
    });
    if (wave == group.waves.end()) wave = group.waves.insert(wave, {0, 0});
    wave->first += own;
    ++wave->second;
  }
  int64_t total = 0;
  for (const GroupSum& group : groups)
    total = std::max(total, group.finish + int64_t(group.waves.size()) * cost.wave);
  return total + cost.allreduce;
}

StaticChoice best_static_balanced(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                                  const Cluster& cluster, int64_t below_ns) {
  const FixedCost cost(cost_model);
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::pair<int64_t, int64_t>> by_least;  // (time at least, CP size): the promising ones first
  for (int64_t cp : feasible_cp_sizes(lengths, cluster))
    by_least.emplace_back(least_static_balanced_ns(sorted, cost, cluster, cp), cp);
  std::sort(by_least.begin(), by_least.end());
  StaticChoice best{0, below_ns, {}};
  for (const auto& [least, cp] : by_least) {
    if (least > best.total_ns || (best.cp == 0 && least == best.total_ns)) break;
    Plan plan = plan_static_balanced(lengths, cost_model, cluster, cp);
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
