// Lower bound on the makespan of any plan.
#include "schedule/bound.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/waves.h"

namespace zoetrope {

// Note [Dual bound]
// Take any plan that ends at time D (without the all-reduce).
//  1. Every rank with tokens runs at least one wave, so each of its shards ends within D - wave. A sample
//     that can't be whole (cap, time) lies on at least as many ranks as the cheapest scheme needs.
//  2. Its work is at least the least of the schemes at their least sizes (Note [Least shares] in
//     ring_bound.cpp). Whole samples cost whole(S).
//  3. Ranks run at least ceil(tokens / cap) waves together, and ceil(segments / segment cap); each costs the
//     wave overhead. And a rank without a wave would have the time for an empty one (D >= wave), so that one
//     per rank may be counted in any case.
//  In lock-step every shard ends within the longest wave, which holds at most ranks x cap tokens. What is
//     outside lies in other waves, whose lengths are no part of that time: at least the least work of so many
//     tokens, those that take least of all, and the wave overheads of the slots they fill, over the ranks.
//  4. The sum of all this is at most ranks x D. The bound is the least D that satisfies 1-4; bisection keeps
//     its infeasible end. Shard times in plans round up and the terms here round down.

SampleBound bound_of_sample(const FixedCost& cost, const Cluster& cluster, int64_t tokens, int64_t time) {
  if (tokens <= cluster.tokens_per_slot && cost.whole(tokens) <= time) return {1, cost.whole(tokens)};
  return bound_of_split(cost, cluster, tokens, time);
}

namespace {

/// Conditions 1-4 of the note for one batch, lengths counted.
class DualBound {
 public:
  DualBound(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost, const Cluster& cluster)
      : cost_(cost), cluster_(cluster), num_samples_(int64_t(sorted_lengths.size())) {
    for (int64_t tokens : sorted_lengths) {
      if (lengths_.empty() || lengths_.back().tokens != tokens) lengths_.push_back({tokens, 0, 0});
      ++lengths_.back().number;
      total_tokens_ += tokens;
    }
    for (size_t i = lengths_.size(); i-- > 0;)
      lengths_[i].whole_from = lengths_[i].number * cost.whole(lengths_[i].tokens) +
                               (i + 1 < lengths_.size() ? lengths_[i + 1].whole_from : 0);
    if (cluster.execution == Execution::kWaves) other_waves_ns_ = least_of_other_waves();
  }

  int64_t whole_ns() const { return lengths_.empty() ? 0 : lengths_[0].whole_from; }

  /// The time that all ranks need together for what must be done where everything ends within `time`, per
  /// rank; kNever: something can't. The time is feasible if that is no more. Falls with the time.
  int64_t needed(int64_t time) const {
    if (time < cost_.wave + other_waves_ns_) return kNever;
    int64_t segments = num_samples_;
    __int128 work = 0;
    for (const Length& length : lengths_) {
      const SampleBound sample =
          bound_of_sample(cost_, cluster_, length.tokens, time - cost_.wave - other_waves_ns_);
      if (sample.cp == 0) return kNever;
      if (sample.cp == 1) {  // descending: all the rest is whole too
        work += length.whole_from;
        break;
      }
      work += static_cast<__int128>(length.number) * sample.work;
      segments += length.number * (sample.cp - 1);
    }
    int64_t waves = std::max((total_tokens_ + cluster_.tokens_per_slot - 1) / cluster_.tokens_per_slot,
                             cluster_.num_slots);
    if (cluster_.segments_per_slot > 0)
      waves = std::max(waves, (segments + cluster_.segments_per_slot - 1) / cluster_.segments_per_slot);
    work += static_cast<__int128>(waves) * cost_.wave;
    return int64_t((work + cluster_.num_slots - 1) / cluster_.num_slots);
  }
  static constexpr int64_t kNever = INT64_MAX;

 private:
  struct Length {
    int64_t tokens, number;
    int64_t whole_from;  ///< whole samples of this length and all shorter ones
  };
  /// All waves but the longest, in lock-step.
  int64_t least_of_other_waves() const {
    constexpr int64_t kAnyTime = int64_t(1) << 61;
    int64_t outside = total_tokens_ - cluster_.num_slots * cluster_.tokens_per_slot;
    if (outside <= 0) return 0;
    __int128 work =
        static_cast<__int128>((outside + cluster_.tokens_per_slot - 1) / cluster_.tokens_per_slot) *
        cost_.wave;
    std::vector<Length> lightest = lengths_;  // whole_from: least work of one
    for (Length& length : lightest)
      length.whole_from = bound_of_sample(cost_, cluster_, length.tokens, kAnyTime).work;
    std::sort(lightest.begin(), lightest.end(), [](const Length& a, const Length& b) {
      return static_cast<__int128>(a.whole_from) * b.tokens < static_cast<__int128>(b.whole_from) * a.tokens;
    });
    for (const Length& length : lightest) {
      const int64_t taken = std::min(outside, length.tokens * length.number);
      work += static_cast<__int128>(length.whole_from) * taken / length.tokens;
      outside -= taken;
    }
    return int64_t(work / cluster_.num_slots);
  }

  const FixedCost& cost_;
  const Cluster& cluster_;
  int64_t num_samples_, total_tokens_ = 0, other_waves_ns_ = 0;
  std::vector<Length> lengths_;
};

/// An infeasible time and a feasible one, closed in on each other.
struct Bracket {
  int64_t infeasible, feasible, needed = 0;  ///< needed at the feasible time
  void probe(const DualBound& bound, int64_t time) {
    if (time <= infeasible || time >= feasible) return;
    const int64_t at_time = bound.needed(time);
    if (at_time > time) infeasible = time;
    else feasible = time, needed = at_time;
    // What is needed at an infeasible time is enough, since it falls with the time.
    if (at_time > time && at_time < feasible) probe(bound, at_time);
  }
};

}  // namespace

int64_t lower_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                         const Cluster& cluster) {
  if (sorted_lengths.empty()) return 0;
  const DualBound bound(sorted_lengths, cost, cluster);
  Bracket bracket{std::max<int64_t>(0, bound.whole_ns() / cluster.num_slots - 1), INT64_MAX};
  for (int64_t time = bracket.infeasible + 1; bracket.feasible == INT64_MAX; time *= 2) {
    ZT_CHECK(time < (int64_t(1) << 61), "lower bound: no time is feasible");
    bracket.probe(bound, time);
  }
  while (bracket.feasible - bracket.infeasible > 1) {
    const int64_t before = bracket.feasible - bracket.infeasible;
    bracket.probe(bound, bracket.needed - 1);  // less than what is needed even at a longer time
    if (2 * (bracket.feasible - bracket.infeasible) > before)
      bracket.probe(bound, bracket.infeasible + (bracket.feasible - bracket.infeasible) / 2);
  }
  return bracket.infeasible;
}

int64_t lower_bound(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                    const Cluster& cluster) {
  const FixedCost cost(cost_model);
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (lengths.empty()) return 0;
  int64_t bound = lower_bound_time(sorted, cost, cluster);
  if (cluster.execution == Execution::kWaves)
    bound = longest_wave_bound_time(sorted, cost, cluster,
                                    std::max(bound, wave_bound_time(sorted, cost, cluster)));
  else bound = std::max(bound, giants_bound_time(sorted, cost, cluster, cost_model.mates_end_together));
  return bound + cost.allreduce;
}

int64_t ideal_ns(const std::vector<int64_t>& lengths, const CostModel& cost_model, int64_t num_slots) {
  const FixedCost cost(cost_model);
  __int128 work = 0;
  for (int64_t tokens : lengths)
    work +=
        FixedCost::scale_down(cost.linear, tokens) + FixedCost::scale_down(cost.quadratic, tokens * tokens);
  return int64_t(work / num_slots);
}

}  // namespace zoetrope
