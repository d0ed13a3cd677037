// Lower bound in lock-step from the longest wave and what it leaves to all others.
#include <algorithm>
#include <optional>

#include "schedule/bound.h"

namespace zoetrope {
namespace {

// Note [Longest wave]
// Let a step take T, and its longest wave t of it. The G slots have t' = t - wave each for shards in that
// wave, and T - t - n wave each in all others together, n the least number of others that the tokens need. No
// other wave is longer than t or than T - t, whichever is less. So
//  1. a sample in the longest wave spends W(c) or more of slot-time on c slots, c W's with W / c <= t' only,
//     and all in it at most G t';
//  2. a sample elsewhere spends the least work of rings that end within min(t, T - t) (Note [Least shares]),
//     and all elsewhere at most G (T - t - n wave);
//  3. tokens in the longest wave are at most G cap, and slots that a long sample fills with time have no room
//     for so many: a token takes `linear` or more wherever it lies. Let a shard of k tokens take l k + e, l
//     short for linear, and let E = t' - l cap be 0 or more. On a slot with shards j the sum of (e_j - E)+ is
//     0, or at most (sum of e_j) - E, which is at most l (cap - sum of k_j), since l k_j + e_j sum up to t'
//     or less. So in any case the sum of k_j + (e_j - E)+ / l is at most cap. And (e - E)+ is convex, so
//     however uneven the c shards of a sample of S tokens are, they take
//       S + (W(c) - l S - c E)+ / l
//     of the G cap tokens or more.
// For prices a >= 0 of the longest wave's slot-time, b >= 0 of its tokens, and 1 of the slot-time elsewhere
// each sample takes the cheaper place, at the cheapest c. If even so all samples together cost more than
//   a G t' + b G cap + G (T - t - n wave)
// then no plan of T has such a t. For all t in an interval W / c and E are taken at its upper end, T - t at
// its lower end, and the price of both times at the end that is worth more. The bound is a T for which all
// intervals were refuted so; they are halved until they are, or are too short to go on. What is refuted for T
// is for all below, too. The cost is concave in the prices, so they are searched for by sections; any are
// valid. A sample that can be whole in time, and takes no more tokens than it has, is cheapest whole: however
// it is split its shards take as much. All sums are exact, in units of 2^-44 ns.

using Exact = __int128;

class LongestWave {
 public:
  LongestWave(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost, const Cluster& cluster)
      : cost_(cost), cluster_(cluster) {
    int64_t total_tokens = 0;
    for (int64_t tokens : sorted_lengths) {
      if (lengths_.empty() || lengths_.back().tokens != tokens) lengths_.push_back({tokens, 0, 0, {}});
      ++lengths_.back().number;
      total_tokens += tokens;
    }
    for (Length& length : lengths_) length.whole_ns = cost.whole(length.tokens);
    std::stable_sort(lengths_.begin(), lengths_.end(), [](const Length& a, const Length& b) {
      return Exact(a.whole_ns) * b.tokens > Exact(b.whole_ns) * a.tokens;
    });
    const int64_t all = cluster.num_slots * cluster.tokens_per_slot;
    other_waves_ns_ = (total_tokens - 1) / all * cost.wave;
  }

  /// True when no plan takes this time or less.
  bool refutes(int64_t time) {
    constexpr int64_t kFinest = 2048;  // parts of the time
    constexpr int kMostIntervals = 1024;
    std::vector<std::pair<int64_t, int64_t>> open{{0, time}};
    for (int looked_at = 0; !open.empty(); ++looked_at) {
      const auto [low, high] = open.back();
      open.pop_back();
      if (refutes(time, low, high)) continue;
      if (high - low <= time / kFinest || looked_at > kMostIntervals) return false;
      const int64_t middle = low + (high - low) / 2;
      open.emplace_back(low, middle);
      open.emplace_back(middle, high);
    }
    return true;
  }

 private:
  static constexpr int64_t kOne = 1 << 12;  ///< the price of slot-time elsewhere
  struct Length {
    int64_t tokens = 0, number = 0, whole_ns = 0;
    std::vector<int64_t> work_ns;  ///< least by ring size, from the fewest on; empty: not asked for yet
  };
  /// A place in the longest wave: slot-time, and tokens in units of what they take at least.
  struct Option {
    Exact ns, tokens;
  };
  struct Sample {
    int64_t number = 0;
    std::optional<Exact> elsewhere;
    std::vector<Option> options;
  };
  /// Samples that are whole in whatever wave.
  struct Wholes {
    Exact ns = 0, tokens = 0;  ///< of this length and all before
  };

  bool refutes(int64_t time, int64_t low, int64_t high) {
    if (high <= cost_.wave || !list_samples(time, low, high)) return true;
    time_ = time, low_ = low, high_ = high;
    if (best_for(kOne) > 0) return true;
    return highest(kOne / 4, 3 * kOne, 10, [&](int64_t price) { return best_for(price); }) > 0;
  }

  /// False when a sample finds a place in no wave.
  bool list_samples(int64_t time, int64_t low, int64_t high) {
    samples_.clear();
    wholes_.assign(1, {});
    const int64_t most = high - cost_.wave, elsewhere = std::min(high, time - low) - cost_.wave;
    for (Length& length : lengths_) {
      const bool is_whole = length.tokens <= cluster_.tokens_per_slot && length.whole_ns <= most &&
                            tokens_of(length, 1, length.whole_ns, most) == tokens_alone(length);
      if (is_whole && length.whole_ns <= elsewhere) {
        wholes_.push_back({wholes_.back().ns + units(length.whole_ns) * length.number,
                           wholes_.back().tokens + tokens_alone(length) * length.number});
        continue;
      }
      Sample sample{length.number, {}, {}};
      if (elsewhere >= 0)
        if (const SampleBound other = bound_of_sample(cost_, cluster_, length.tokens, elsewhere);
            other.cp > 0)
          sample.elsewhere = units(other.work);
      if (is_whole) sample.options.push_back({units(length.whole_ns), tokens_alone(length)});
      else list_options(length, most, sample);
      if (!sample.elsewhere && sample.options.empty()) return false;
      samples_.push_back(std::move(sample));
    }
    return true;
  }

  static Exact units(int64_t ns) { return Exact(ns) << 32; }
  Exact tokens_alone(const Length& length) const { return Exact(cost_.linear) * length.tokens; }
  /// Item 3 of the note.
  Exact tokens_of(const Length& length, int64_t cp, int64_t work, int64_t most) const {
    const Exact room = units(most) - Exact(cost_.linear) * cluster_.tokens_per_slot;
    if (room < 0) return tokens_alone(length);
    const Exact excess = units(work) - tokens_alone(length);
    return tokens_alone(length) + std::max<Exact>(0, excess - cp * room);
  }

  /// Ring sizes that no other one beats in time and tokens.
  void list_options(Length& length, int64_t most, Sample& sample) const {
    const int64_t fewest = (length.tokens + cluster_.tokens_per_slot - 1) / cluster_.tokens_per_slot,
                  largest = std::min(cluster_.num_slots, length.tokens);
    if (length.work_ns.empty())
      for (int64_t cp = fewest; cp <= largest; ++cp)
        length.work_ns.push_back(cp == 1 ? length.whole_ns
                                         : least_split_work(cost_, length.tokens, cp, cluster_.num_slots));
    for (int64_t cp = fewest; cp <= largest; ++cp) {
      const int64_t work = length.work_ns[size_t(cp - fewest)];
      if (work / cp > most) continue;
      const Option option{units(work), tokens_of(length, cp, work, most)};
      const auto is_beaten_by = [](const Option& other) {
        return [&other](const Option& one) { return other.ns <= one.ns && other.tokens <= one.tokens; };
      };
      if (std::any_of(sample.options.begin(), sample.options.end(),
                      [&](const Option& other) { return is_beaten_by(other)(option); }))
        continue;
      std::erase_if(sample.options, is_beaten_by(option));
      sample.options.push_back(option);
    }
  }

  /// The highest value found of a concave function, searched for by sections until it is above 0.
  static Exact highest(int64_t low, int64_t high, int rounds, const auto& value_of) {
    Exact best = value_of(low);
    for (int round = 0; round < rounds && best <= 0 && high - low > 2; ++round) {
      const int64_t left = low + (high - low) * 3 / 8, right = low + (high - low) * 5 / 8;
      const Exact at_left = value_of(left), at_right = value_of(right);
      best = std::max({best, at_left, at_right});
      (at_left < at_right ? low : high) = at_left < at_right ? left : right;
    }
    return best;
  }
  /// What the samples cost beyond the room there is, at the best price of tokens.
  Exact best_for(int64_t price) const {
    return highest(0, 4 * kOne, 14, [&](int64_t price_of_tokens) { return excess(price, price_of_tokens); });
  }

  Exact excess(int64_t price, int64_t price_of_tokens) const {
    const int64_t longest = (price > kOne ? high_ : low_) - cost_.wave,
                  others = time_ - cost_.wave - longest - other_waves_ns_;
    Exact sum = -(Exact(price) * units(longest) + Exact(kOne) * units(others) +
                  Exact(price_of_tokens) * cost_.linear * cluster_.tokens_per_slot) *
                cluster_.num_slots;
    for (const Sample& sample : samples_) {
      std::optional<Exact> least;
      if (sample.elsewhere) least = *sample.elsewhere * kOne;
      for (const Option& option : sample.options) {
        const Exact cost = option.ns * price + option.tokens * price_of_tokens;
        if (!least || cost < *least) least = cost;
      }
      sum += *least * sample.number;
    }
    return sum + wholes_cost(price, price_of_tokens);
  }

  /// Those that take most per token are in the longest wave.
  Exact wholes_cost(int64_t price, int64_t price_of_tokens) const {
    const Wholes& all = wholes_.back();
    const auto gain = [&](size_t i) {  // of the first i
      return wholes_[i].ns * (kOne - price) - wholes_[i].tokens * price_of_tokens;
    };
    if (price >= kOne) return all.ns * kOne;
    size_t low = 0, high = wholes_.size() - 1;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (gain(middle + 1) > gain(middle)) low = middle + 1;
      else high = middle;
    }
    return all.ns * kOne - std::max<Exact>(0, gain(low));
  }

  const FixedCost& cost_;
  const Cluster& cluster_;
  int64_t other_waves_ns_ = 0;
  std::vector<Length> lengths_;  ///< those that take most per token first, if whole
  // Of the interval that is looked at:
  int64_t time_ = 0, low_ = 0, high_ = 0;
  std::vector<Sample> samples_;
  std::vector<Wholes> wholes_;
};

}  // namespace

int64_t longest_wave_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                                const Cluster& cluster, int64_t bound) {
  constexpr int64_t kSmall = 1 << 16;  // samples x slots
  if (bound <= 0 || int64_t(sorted_lengths.size()) * cluster.num_slots > kSmall) return bound;
  LongestWave longest(sorted_lengths, cost, cluster);
  int64_t low = bound, high = bound + bound / 8 + 2;
  for (int64_t time = low + low / 1024 + 1; high - low > low / 4096; time = low + (high - low) / 2) {
    if (longest.refutes(time)) low = time;
    else high = time;
    if (high - low <= 1) break;
  }
  return low;
}

}  // namespace zoetrope
