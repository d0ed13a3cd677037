// Lower bound on the makespan of any plan whose waves run in lock-step.
#include <algorithm>
#include <optional>

#include "schedule/bound.h"
#include "schedule/waves.h"

namespace zoetrope {
namespace {

// Note [Wave bound]
// In lock-step a step takes T = sum of the waves' lengths. Slot-time G T (G slots, without the all-reduce)
// is the ideal work I = sum of S d(S), with d(S) = linear + quadratic S the least that a token of a sample of
// S tokens costs (Note [Least shares]: all ranks of a sample together spend S d or more), plus waste: all the
// rest, idle slots, overheads, transfers that nothing hides. No wave's waste is negative.
//  1. Take any sample j and the number c of its shards; c >= S / cap. Its wave is as long as the mean of its
//     slots at least: t = wave + W(c) / c with W(c) the least work of all schemes and places of c ranks, for
//     c = 1 whole(S), however uneven the shards. Let the wave take t' >= t. The ideal work X of others in it:
//      - Rings: a shard of k tokens costs k d or more where it lies. The c slots spend c t or more on j and
//      so
//        at most c (t' - t) on others; the other G - c slots hold at most (G - c) cap tokens, whose ideal
//        work is at most U((G - c) cap), the densest ones of all other samples. So X <= U + c (t' - t).
//      - Where heads are exchanged for tokens over u ranks of a node, attention is split evenly among them
//        whatever tokens each holds. But whoever holds some of a block of B tokens computes attention for
//        B / u of it or more, so x tokens of a sample of s tokens on the c slots take them x p(s) or more:
//        p(s) = linear + all_to_all (u - 1) / u + quadratic s / u, or d(s) if that is less. So they pay G p /
//        c of slot-time in a longer wave for every token that is worth d(s) there.
//     The wave wastes G t' - S d(S) - X, and never less than c t - S d(S), what j itself wastes. With rings
//     the least is at t' = t. With heads the least is G t - S d - sum of d over tokens on the other G - c
//     slots - sum of g = d - G p / c over tokens on the c slots, of which there are c cap - S at most. g is
//     positive only where quadratic s exceeds all_to_all and c u exceeds G, since it is 0 or less for s = 0
//     and for s = all_to_all / quadratic, and so for the largest u; there g rises with s, and d - g, too. So
//     the other slots hold the densest tokens and the c slots the next ones. The least over c holds.
//  2. The other waves have waste too. Sample i wastes e_i = W_i - S d(S) or more, W_i the least work on any
//     number of slots that the cap allows, or its segment overhead if it can be whole; samples in the wave of
//     j have at most G cap tokens together, so the rest wastes at least the sum of all e less the most that
//     so many tokens carry (fractional knapsack). And the tokens that are not in that wave fill (tokens - G
//     cap) / cap slots of other waves at least, each with the wave overhead.
//  3. Small batches are looked at more closely. Samples get prices P_i such that no wave's cost more than its
//     G t': then G T is at least the sum of all prices. Sample i spends W_i' = W_i + wave s / cap or
//     more of slot-time, overheads of its part of slots included, so P = W' is fair to any wave. Some
//     samples, ranked, get prices of their own, from the last to the first: P_j is what is fair to all waves
//     in which j is the first. With j on c slots
//       G t' >= W(c) + wave S / cap + sum of others' W_i', and
//       G t' >= G t + sum of G x_i p_i / c, t = wave + W(c) / c as above,
//     x_i of their tokens on the c slots, at p(s) or d(s) as above, and o_i on other slots. So P_j is the
//     least over c of the larger one of W(c) + wave S / cap - (sum of P_i - W_i' where that is positive) and
//     G t less the largest
//       sum of o_i P_i / s_i + x_i (P_i / s_i - G p_i / c), o_i + x_i <= s_i, sum of o_i <= (G - c) cap,
//       sum of x_i <= c cap - S,
//     a linear program, at most lambda_o (G - c) cap + lambda_x (c cap - S) + sum of max(0, P_i - lambda_o
//     s_i, P_i - G s_i p_i / c - lambda_x s_i) for any prices lambda >= 0 of the slots' room. More slots, c',
//     that make the wave no shorter need not be looked at: of x <= c' cap tokens on them a part of 1 - c / c'
//     finds room on the c' - c slots that stay free with c, and the rest costs c no more. Which samples get
//     such prices is free: some of the longest ones, or one of them, are tried.
// The bound is the largest over samples j of (I + 1 + 2) / G and of 3 / G. All sums are exact, in units of
// 2^-32 ns.

using Exact = __int128;

Exact in_units(int64_t ns) { return Exact(ns) << 32; }

class WaveBound {
 public:
  WaveBound(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost, const Cluster& cluster)
      : lengths_(sorted_lengths), cost_(cost), cluster_(cluster), tokens_before_{0}, ideal_before_{0} {
    for (int64_t over = 2; over <= std::min({cost.num_heads, cost.ranks_per_node, cluster.num_slots}); ++over)
      if (cost.num_heads % over == 0) most_heads_over_ = over;
    for (int64_t tokens : lengths_) {
      tokens_before_.push_back(tokens_before_.back() + tokens);
      ideal_before_.push_back(ideal_before_.back() + ideal(tokens));
    }
  }

  int64_t search() const {
    constexpr size_t kSamples = 8;  // longest samples looked at: the longest binds, or one soon after it
    Exact most = 0;
    for (size_t j = 0; j < std::min(kSamples, lengths_.size()); ++j) most = std::max(most, waste_around(j));
    Exact bound = ideal_before_.back() + most + waste_elsewhere();
    constexpr int64_t kSmall = 1 << 16;  // samples x slots
    if (int64_t(lengths_.size()) * cluster_.num_slots <= kSmall) {
      const std::vector<Other> samples = fair_samples();
      for (size_t count = 1; count <= std::min<size_t>(16, lengths_.size()); count *= 2)
        bound = std::max(bound, sum_of_prices(samples, 0, count));
      for (size_t j = 1; j < std::min(kSamples, lengths_.size()); ++j)
        bound = std::max(bound, sum_of_prices(samples, j, j + 1));
    }
    return int64_t(bound / cluster_.num_slots >> 32);
  }

 private:
  Exact ideal(int64_t tokens) const {
    return (Exact(cost_.linear) + Exact(cost_.quadratic) * tokens) * tokens;
  }
  int64_t fewest_slots(int64_t tokens) const {
    return (tokens + cluster_.tokens_per_slot - 1) / cluster_.tokens_per_slot;
  }
  int64_t work_on(int64_t tokens, int64_t cp) const {
    return cp == 1 ? cost_.whole(tokens) : least_split_work(cost_, tokens, cp, cluster_.num_slots);
  }
  /// On any slots that the cap allows.
  int64_t least_work(int64_t tokens) const {
    constexpr int64_t kAnyTime = int64_t(1) << 61;
    return bound_of_sample(cost_, cluster_, tokens, kAnyTime).work;
  }

  /// Ideal work of the densest `room` tokens that are not sample j's.
  Exact densest(size_t j, int64_t room) const {
    if (tokens_before_[j] >= room) return densest_of_all(room);
    return densest_of_all(room + lengths_[j]) - ideal(lengths_[j]);
  }
  Exact densest_of_all(int64_t room) const {
    if (room >= tokens_before_.back()) return ideal_before_.back();
    const size_t i = size_t(std::upper_bound(tokens_before_.begin(), tokens_before_.end(), room) -
                            tokens_before_.begin()) -
                     1;
    return ideal_before_[i] +
           (Exact(cost_.linear) + Exact(cost_.quadratic) * lengths_[i]) * (room - tokens_before_[i]);
  }

  /// Item 1 of the note.
  Exact waste_around(size_t j) const {
    const int64_t tokens = lengths_[j], num_slots = cluster_.num_slots;
    std::optional<Exact> least;  // a waste may be some units below 0: the least work is rounded down
    for (int64_t cp = fewest_slots(tokens); cp <= std::min(num_slots, tokens); ++cp) {
      const Exact own = in_units(work_on(tokens, cp)) + in_units(cost_.wave) * cp;
      const int64_t room = (num_slots - cp) * cluster_.tokens_per_slot;
      Exact idle = own / cp * (num_slots - cp) - densest(j, room);
      if (cost_.num_heads > 0) idle -= gain_of_more(j, cp, room);
      const Exact waste = own - ideal(tokens) + std::max<Exact>(0, idle);
      least = std::min(least.value_or(waste), waste);
    }
    return std::max<Exact>(0, least.value_or(0));
  }

  /// Of the tokens after the densest `room`, as far as they pay beside sample j on its `cp` slots.
  Exact gain_of_more(size_t j, int64_t cp, int64_t room) const {
    const Exact over = most_heads_over_, num_slots = cluster_.num_slots, linear = cost_.linear;
    if (over == 0) return 0;
    // Units of 1 / over: what a token takes there but for attention, and attention to all tokens.
    const Exact fixed = linear * over + Exact(cost_.all_to_all) * (over - 1);
    const auto pays = [&](int64_t tokens) {
      const Exact attention = Exact(cost_.quadratic) * tokens;
      return (linear + attention) * over * cp > (fixed + attention) * num_slots;
    };
    const size_t dense =
        size_t(std::partition_point(lengths_.begin(), lengths_.end(), pays) - lengths_.begin());
    const int64_t paying = tokens_before_[dense] - (j < dense ? lengths_[j] : 0);
    const int64_t more = std::clamp<int64_t>(paying - room, 0, cp * cluster_.tokens_per_slot - lengths_[j]);
    if (more == 0) return 0;
    const Exact ideal = densest(j, room + more) - densest(j, room);
    return ideal - (fixed * more + ideal - linear * more) * num_slots / (over * cp);
  }

  /// Item 2 of the note.
  Exact waste_elsewhere() const {
    const int64_t room = cluster_.num_slots * cluster_.tokens_per_slot;
    if (tokens_before_.back() <= room) return 0;
    std::vector<std::pair<Exact, int64_t>> extras;  // (waste, tokens)
    Exact sum = 0;
    for (int64_t tokens : lengths_) {
      const Exact extra = std::max<Exact>(0, in_units(least_work(tokens)) - ideal(tokens));
      extras.emplace_back(extra, tokens);
      sum += extra;
    }
    std::sort(extras.begin(), extras.end(),
              [](const auto& a, const auto& b) { return a.first * b.second > b.first * a.second; });
    int64_t left = room;
    for (const auto& [extra, tokens] : extras) {
      const int64_t taken = std::min(left, tokens);
      sum -= taken == tokens ? extra : (extra * taken + tokens - 1) / tokens;
      left -= taken;
    }
    const int64_t outside = tokens_before_.back() - room;
    return std::max<Exact>(0, sum) + in_units(cost_.wave) * fewest_slots(outside);
  }

  /// Item 3 of the note.
  struct Other {
    int64_t tokens;
    Exact fair, price, beside;  ///< W', P, and s p(s)
    bool is_denser(const Other& other) const { return price * other.tokens > other.price * tokens; }
  };

  std::vector<Other> fair_samples() const {
    std::vector<Other> samples;
    for (int64_t tokens : lengths_) {
      const Exact work = std::max(in_units(least_work(tokens)), ideal(tokens)) +
                         in_units(cost_.wave) * tokens / cluster_.tokens_per_slot;
      Other sample{tokens, work, work, ideal(tokens)};
      for (int64_t over : {int64_t(2), most_heads_over_})  // linear in 1 / over: one of the ends is least
        if (most_heads_over_ > 0)
          sample.beside = std::min(sample.beside, ((Exact(cost_.linear) + cost_.all_to_all) * over -
                                                   cost_.all_to_all + Exact(cost_.quadratic) * tokens) *
                                                      tokens / over);
      samples.push_back(sample);
    }
    return samples;
  }

  /// With prices of their own for samples [first, end), in this order of rank.
  Exact sum_of_prices(std::vector<Other> samples, size_t first, size_t end) const {
    Exact more = 0, sum = 0;
    std::vector<size_t> densest;  // samples that rank below j
    for (size_t i = 0; i < samples.size(); ++i)
      if (i < first || i >= end) densest.push_back(i);
    const auto is_denser = [&](size_t a, size_t b) { return samples[a].is_denser(samples[b]); };
    std::stable_sort(densest.begin(), densest.end(), is_denser);
    for (size_t j = end; j-- > first;) {
      samples[j].price = price_of(j, samples, densest, more);
      more += std::max<Exact>(0, samples[j].price - samples[j].fair);
      densest.insert(std::upper_bound(densest.begin(), densest.end(), j, is_denser), j);
    }
    for (const Other& sample : samples) sum += sample.price;
    return sum;
  }

  Exact price_of(size_t j, const std::vector<Other>& samples, const std::vector<size_t>& densest,
                 Exact more) const {
    const int64_t tokens = lengths_[j], num_slots = cluster_.num_slots;
    std::optional<Exact> least, shortest;
    for (int64_t cp = fewest_slots(tokens); cp <= std::min(num_slots, tokens); ++cp) {
      const Exact own = in_units(work_on(tokens, cp)) + in_units(cost_.wave) * cp;
      if (shortest && own / cp >= *shortest) continue;
      shortest = own / cp;
      const Exact alone =
          in_units(work_on(tokens, cp)) + in_units(cost_.wave) * tokens / cluster_.tokens_per_slot;
      const Exact price =
          std::max(alone - more, *shortest * num_slots - most_beside(j, cp, samples, densest));
      least = std::min(least.value_or(price), price);
    }
    return least.value_or(0);
  }

  /// The linear program's value at most, beside sample j on `cp` slots.
  Exact most_beside(size_t j, int64_t cp, const std::vector<Other>& samples,
                    const std::vector<size_t>& densest) const {
    const int64_t cap = cluster_.tokens_per_slot, room = (cluster_.num_slots - cp) * cap,
                  room_beside = cp * cap - lengths_[j];
    const auto gain = [&](const Other& other) {  // per token on the slots of sample j
      return (other.price - other.beside * cluster_.num_slots / cp) / other.tokens;
    };
    // Prices of room where the densest fill the other slots and the next ones these, as far as they gain.
    Exact at_room = 0, gain_at_room = 0, gain_at_end = 0;
    int64_t filled = 0;
    for (size_t i : densest) {
      const bool before = filled < room;
      filled += samples[i].tokens;
      if (before && filled >= room)
        at_room = samples[i].price / samples[i].tokens, gain_at_room = gain(samples[i]);
      if (filled < room + room_beside) continue;
      gain_at_end = std::max<Exact>(0, gain(samples[i]));
      break;
    }
    const auto priced = [&](Exact price, Exact price_beside) {
      Exact sum = price * room + price_beside * room_beside;
      for (size_t i : densest) {
        const Other& other = samples[i];
        sum += std::max<Exact>(
            {0, other.price - price * other.tokens,
             other.price - other.beside * cluster_.num_slots / cp - price_beside * other.tokens});
      }
      return sum;
    };
    const Exact shifted = std::max<Exact>(0, gain_at_end + at_room - gain_at_room);
    const Exact most = priced(std::min(at_room, shifted), gain_at_end);
    return std::min(most, priced(at_room, gain_at_end));
  }

  const std::vector<int64_t>& lengths_;
  const FixedCost& cost_;
  const Cluster& cluster_;
  int64_t most_heads_over_ = 0;  ///< ranks of a node that may split heads; 0: none
  std::vector<int64_t> tokens_before_;
  std::vector<Exact> ideal_before_;
};

}  // namespace

int64_t wave_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                        const Cluster& cluster) {
  if (sorted_lengths.empty()) return 0;
  return WaveBound(sorted_lengths, cost, cluster).search();
}

}  // namespace zoetrope
