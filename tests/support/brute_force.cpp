#include "tests/support/brute_force.h"

#include <algorithm>

#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

/// All ways to lay `tokens` on `num_slots` slots, some of them empty.
std::vector<std::vector<int64_t>> splits_of(int64_t tokens, int64_t num_slots) {
  if (num_slots == 1) return {{tokens}};
  std::vector<std::vector<int64_t>> all;
  for (int64_t first = 0; first <= tokens; ++first)
    for (std::vector<int64_t>& rest : splits_of(tokens - first, num_slots - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  return all;
}

/// Least makespan of all plans within the caps: every split of every sample, in every wave.
class BruteForce {
 public:
  BruteForce(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster)
      : lengths_(lengths), cost_(cost), cluster_(cluster) {
    plan_.waves.assign(lengths.size(), {std::vector<std::vector<Shard>>(size_t(cluster.num_slots)), {}});
    for (int64_t tokens : lengths) splits_.push_back(splits_of(tokens, cluster.num_slots));
  }
  int64_t search() {
    place(0);
    return best_;
  }

 private:
  void place(size_t sample) {
    if (sample == lengths_.size()) {
      list_rings(plan_);
      best_ = std::min(best_, makespan_of(plan_, cost_, cluster_.execution).total_ns);
      if (cost_.num_heads == 0) return;
      choose_exchanges(plan_, FixedCost(cost_));
      best_ = std::min(best_, makespan_of(plan_, cost_, cluster_.execution).total_ns);
      return;
    }
    for (Wave& wave : plan_.waves)
      for (const std::vector<int64_t>& split : splits_[sample]) {
        int64_t begin = 0;
        bool fits = true;
        for (size_t slot = 0; slot < split.size(); ++slot) {
          if (split[slot] == 0) continue;
          wave.slots[slot].push_back({int64_t(sample), begin, begin + split[slot]});
          begin += split[slot];
          fits = fits && tokens_of(wave.slots[slot]) <= cluster_.tokens_per_slot &&
                 (cluster_.segments_per_slot == 0 ||
                  int64_t(wave.slots[slot].size()) <= cluster_.segments_per_slot);
        }
        if (fits) place(sample + 1);
        for (size_t slot = 0; slot < split.size(); ++slot)
          if (split[slot] > 0) wave.slots[slot].pop_back();
      }
  }

  const std::vector<int64_t>& lengths_;
  const CostModel& cost_;
  const Cluster& cluster_;
  Plan plan_;
  std::vector<std::vector<std::vector<int64_t>>> splits_;
  int64_t best_ = INT64_MAX;
};

}  // namespace

int64_t least_makespan(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster) {
  return BruteForce(lengths, cost, cluster).search();
}

}  // namespace zoetrope
