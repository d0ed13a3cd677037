// Fixed groups of ranks after KnapFormer, from its description: the ranks are cut once into bags, and every
// sample is spread evenly over all slots of one bag.
#include <algorithm>
#include <charconv>
#include <map>
#include <queue>

#include "core/check.h"
#include "schedule/even_shards.h"
#include "schedule/fixed_cost.h"
#include "schedule/planner.h"
#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

// Note [Bags]
// A spec `g1n32+g2n8` cuts the ranks into 32 bags of one slot, then 8 bags of two. Samples go by descending
// work, each to the bag that is least occupied (work / slots, before the sample is added) among those whose
// capacity, slots x token cap, holds it; of equals the larger bag, then the first. Work is the fitted cost of
// products and attention, linear S + quadratic S^2: no communication, no overheads. The original runs one
// micro-batch and knows no memory bound; here a bag opens further waves where its caps are reached.
// People choose the original's spec by hand for a mix and keep it. Without one, specs are derived and the one
// that the cost model predicts fastest is taken, the first of equals. Each is of a share, 1, 1/2, 1/4, 1/8 of
// what the mean rank works: a sample's size is the least power of two at which it fits the cap and takes no
// longer than that, or the whole pool where no power of two does; from the largest size down each gets ranks
// in proportion to its samples' work, in whole bags and rounded down, the largest at least one bag; ranks
// that remain are bags of one slot. Then bags of one size: the least power of two that divides the ranks and
// holds the longest sample, and the next three.

[[noreturn]] void refuse(const std::string& spec, const std::string& why) {
  throw UsageError(join_message("--bags '", spec, "': ", why,
                                "; write bag size and count, such as g1n32+g2n8: 32 bags of one rank and 8 "
                                "of two"));
}

/// Reads `letter` and a positive number from the front of `text`, and drops them.
int64_t take_number(std::string_view& text, char letter, const std::string& spec) {
  int64_t value = 0;
  if (text.empty() || text[0] != letter) refuse(spec, std::string("expected '") + letter + "'");
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc() || value < 1 || value > (int64_t(1) << 31))
    refuse(spec, std::string("expected a number of at least 1 after '") + letter + "'");
  text.remove_prefix(size_t(end - text.data()));
  return value;
}

class WorkModel {
 public:
  explicit WorkModel(const CostModel& cost) : cost_(cost) {}
  int64_t operator()(int64_t tokens) const {
    return FixedCost::scale_up(cost_.linear, tokens) + FixedCost::scale_up(cost_.quadratic, tokens * tokens);
  }

  const FixedCost& cost() const { return cost_; }

 private:
  FixedCost cost_;
};

/// Bag sizes for the mix, largest first; a sample takes at most 1 / `divisor` of the mean rank's work.
std::vector<int64_t> bags_for_mix(const std::vector<int64_t>& lengths, const WorkModel& work,
                                  const Cluster& cluster, int64_t divisor) {
  __int128 total = 0;
  for (int64_t tokens : lengths) total += work(tokens);
  std::vector<std::pair<int64_t, __int128>> classes;  // (size, work of its samples), largest first
  for (int64_t sample : by_descending_length(lengths)) {
    const int64_t tokens = lengths[size_t(sample)];
    int64_t size = 1;
    while (size <= cluster.num_slots &&
           (even_tokens(tokens, size, 0) > cluster.tokens_per_slot ||
            static_cast<__int128>(work(tokens)) * cluster.num_slots * divisor > total * size))
      size *= 2;
    size = std::min(size, cluster.num_slots);
    if (classes.empty() || classes.back().first != size) classes.emplace_back(size, 0);
    classes.back().second += work(tokens);
  }
  std::vector<int64_t> bags;
  int64_t free_slots = cluster.num_slots;
  for (const auto& [size, class_work] : classes) {
    int64_t count = total > 0 ? int64_t(class_work * cluster.num_slots / (total * size)) : 0;
    if (bags.empty()) count = std::max<int64_t>(1, count);
    count = std::min(count, free_slots / size);
    bags.insert(bags.end(), size_t(count), size);
    free_slots -= count * size;
  }
  bags.insert(bags.end(), size_t(free_slots), 1);
  return bags;
}

/// The specs that are tried where none is given.
std::vector<std::vector<int64_t>> derived_bags(const std::vector<int64_t>& lengths, const WorkModel& work,
                                               const Cluster& cluster) {
  std::vector<std::vector<int64_t>> specs;
  for (int64_t divisor : {1, 2, 4, 8}) specs.push_back(bags_for_mix(lengths, work, cluster, divisor));
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  int tries = 4;
  for (int64_t size = 1; tries > 0 && cluster.num_slots % size == 0; size *= 2)
    if (even_tokens(longest, size, 0) <= cluster.tokens_per_slot)
      specs.emplace_back(size_t(cluster.num_slots / size), size), --tries;
  return specs;
}

/// The bags of a pool while samples are placed in them.
class Bags {
 public:
  struct Place {
    size_t wave;
    int64_t first_slot, size;
  };

  Bags(const std::vector<int64_t>& sizes, const Cluster& cluster) : cluster_(cluster) {
    int64_t first_slot = 0;
    for (int64_t size : sizes) {
      bags_.push_back({first_slot, size, {}});
      by_size_[size].push({0, bags_.size() - 1});
      first_slot += size;
    }
  }
  /// Tokens of the longest sample that a bag holds.
  int64_t capacity() const { return by_size_.begin()->first * cluster_.tokens_per_slot; }
  /// Puts a sample in the least occupied bag that holds it.
  Place place(int64_t tokens, int64_t work) {
    auto best = by_size_.begin();
    for (auto it = by_size_.begin(); it != by_size_.end(); ++it) {
      if (even_tokens(tokens, it->first, 0) > cluster_.tokens_per_slot) break;
      if (it->second.top().first * best->first < best->second.top().first * it->first) best = it;
    }
    const auto [occupied, index] = best->second.top();
    best->second.pop();
    best->second.push({occupied + work, index});
    Bag& bag = bags_[index];
    return {wave_with_room(bag, even_tokens(tokens, bag.size, 0)), bag.first_slot, bag.size};
  }

 private:
  struct Bag {
    int64_t first_slot, size;
    std::vector<std::pair<int64_t, int64_t>> waves;  // (tokens, segments) of the first slot, the fullest
  };
  using Entry = std::pair<__int128, size_t>;  // (work, bag)
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  size_t wave_with_room(Bag& bag, int64_t own) const {
    size_t wave = 0;
    while (wave < bag.waves.size() &&
           (bag.waves[wave].first + own > cluster_.tokens_per_slot ||
            (cluster_.segments_per_slot > 0 && bag.waves[wave].second >= cluster_.segments_per_slot)))
      ++wave;
    if (wave == bag.waves.size()) bag.waves.emplace_back(0, 0);
    bag.waves[wave].first += own;
    ++bag.waves[wave].second;
    return wave;
  }

  const Cluster& cluster_;
  std::vector<Bag> bags_;
  std::map<int64_t, Queue, std::greater<>> by_size_;  // largest first
};

Plan plan_with(const std::vector<int64_t>& sizes, const std::vector<int64_t>& lengths, const WorkModel& work,
               const Cluster& cluster) {
  Bags bags(sizes, cluster);
  Plan plan;
  for (int64_t sample : by_descending_length(lengths)) {
    const int64_t tokens = lengths[size_t(sample)];
    ZT_REQUIRE(bags.capacity() >= tokens, "bags plan: sample ", sample, " has ", tokens,
               " tokens, and the largest of the bags holds ", bags.capacity(),
               "; use a larger bag, more memory per rank, or leave --bags out");
    const Bags::Place place = bags.place(tokens, work(tokens));
    while (place.wave >= plan.waves.size()) open_wave(plan, cluster.num_slots);
    put_even(plan.waves[place.wave], place.first_slot, place.size, sample, tokens);
  }
  list_rings(plan);
  choose_exchanges(plan, work.cost());
  return plan;
}

}  // namespace

std::vector<int64_t> read_bags(const std::string& spec, int64_t num_slots) {
  std::vector<int64_t> bags;
  int64_t slots = 0;
  for (std::string_view text = spec;;) {
    const int64_t size = take_number(text, 'g', spec), count = take_number(text, 'n', spec);
    slots += size * count;
    if (slots > num_slots) break;
    bags.insert(bags.end(), size_t(count), size);
    if (text.empty()) break;
    if (text[0] != '+') refuse(spec, "expected '+' between bag sizes");
    text.remove_prefix(1);
  }
  if (slots != num_slots)
    refuse(spec, join_message("bags of ", slots, slots > num_slots ? " or more" : "",
                              " ranks, and there are ", num_slots));
  return bags;
}

Plan plan_bags(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
               const std::string& spec) {
  check_batch(lengths, cluster);
  const WorkModel work(cost);
  if (!spec.empty()) return plan_with(read_bags(spec, cluster.num_slots), lengths, work, cluster);
  Plan best;
  int64_t best_ns = INT64_MAX;
  for (const std::vector<int64_t>& sizes : derived_bags(lengths, work, cluster)) {
    Plan plan = plan_with(sizes, lengths, work, cluster);
    const int64_t total_ns = makespan_of(plan, cost, cluster.execution).total_ns;
    if (total_ns < best_ns) best = std::move(plan), best_ns = total_ns;
  }
  return best;
}

}  // namespace zoetrope
