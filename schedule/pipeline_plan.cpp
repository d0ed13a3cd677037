// Plans a step for pipelines: searches number, sizes and filling of the micro-batches.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/pipeline_pack.h"
#include "schedule/pipeline_profile.h"
#include "schedule/planner.h"
#include "schedule/static.h"

namespace zoetrope {
namespace {

// Note [Planning pipelines]
// A candidate is made in two halves. A profile says how large each wave should be on every pipeline alike, by
// the bubble model of pipeline_profile.cpp: small waves first and last, the largest sample's in between, any
// number of waves. Packing then lays the samples, longest first, whole or as rings, so that each slot of a
// wave takes what the profile says; token and segment caps are hard. The candidate is simulated as it is.
// The search takes number of waves first (a grid from what the token cap needs to where ramps and the largest
// sample leave nothing to gain), then moves one choice at a time while that helps, and ends near the bound or
// after so much effort.
// Candidates whose profile alone is no faster than the best plan are not packed. Last come the plans of other
// planners, so that none of them is faster: with few samples, or caps that force rings whose links are slow,
// waves can't be made to a profile's sizes.

/// What a candidate is made of.
struct Choice {
  int64_t num_waves = 1;
  int64_t token_limit =
      0;  ///< waves at most so large that a usual mix fills that part of the cap, 1/64; 0: any
  int64_t stretch = 1024;  ///< of all waves, 1/1024
  int64_t largest = 1024;  ///< of the wave with the largest sample, 1/1024 of the least it can take
  bool by_density = true;
  int64_t waste = 8;
  int64_t spread = 1;
  auto operator<=>(const Choice&) const = default;
};

class PipelineSearch {
 public:
  PipelineSearch(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                 const PipelineShape& shape)
      : lengths_(lengths), batch_(lengths, cost, cluster), shape_(shape) {
    const int64_t bound = pipeline_bound(lengths, cost, cluster, shape);
    good_ns_ = bound + bound / 256;
    __int128 work = 0;
    for (int64_t tokens : batch_.tokens) work += batch_.cost.whole(tokens), total_tokens_ += tokens;
    work_ns_ = std::max<int64_t>(1, int64_t(work / cluster.num_slots));
    packed_ns_ = work_ns_;
    for (int64_t cp = 1; cp <= cluster.num_slots; ++cp) {
      const int64_t tokens = batch_.tokens[0];
      if ((tokens + cp - 1) / cp > cluster.tokens_per_slot) continue;
      const int64_t ns = batch_.cost.even_ring(tokens, cp);
      if (largest_ns_ == 0 || ns < largest_ns_) largest_ns_ = ns;
    }
  }

  Plan search() {
    const std::vector<int64_t> counts = wave_counts();
    for (auto num_waves = counts.rbegin(); num_waves != counts.rend(); ++num_waves)
      for (int64_t spread : spreads()) {
        Choice choice;
        choice.num_waves = *num_waves;
        choice.spread = spread;
        attempt(choice);
      }
    for (int round = 0; round < 3 && improve(); ++round) {}
    offer_plans_of_others();
    return std::move(best_plan_);
  }

 private:
  int64_t whole_cap() const { return batch_.cluster.num_slots * batch_.cluster.tokens_per_slot; }
  std::vector<int64_t> spreads() const {
    constexpr int64_t kWidest = 8;
    std::vector<int64_t> spreads{1};
    for (int64_t spread : {int64_t(2), kWidest})
      if (std::min(spread, batch_.cluster.num_slots) > spreads.back())
        spreads.push_back(std::min(spread, batch_.cluster.num_slots));
    return spreads;
  }
  /// Numbers of waves to begin with, ascending.
  std::vector<int64_t> wave_counts() const {
    constexpr int64_t kMost = 512, kSteps = 8;
    const int64_t stages = shape_.num_stages, samples = int64_t(batch_.tokens.size());
    const int64_t least = std::min(samples, (total_tokens_ + whole_cap() - 1) / whole_cap());
    const int64_t giants = std::min(kMost, work_ns_ / std::max<int64_t>(1, largest_ns_));
    const int64_t most = std::clamp(giants * 3 / 2 + 2 * stages, least, std::max(least, samples));
    std::vector<int64_t> counts;
    for (int64_t step = 0; step < kSteps; ++step) {  // ever larger steps
      const int64_t count =
          least + (most - least) * step * (step + kSteps) / ((kSteps - 1) * (2 * kSteps - 1));
      if (counts.empty() || count > counts.back()) counts.push_back(count);
    }
    return counts;
  }
  /// Sizes of a choice in shares of the work.
  const PipelineProfile& profile_of(const Choice& choice) {
    const int64_t largest =
        int64_t(static_cast<__int128>(largest_ns_) * choice.largest / 1024 * kProfileWork / work_ns_);
    int64_t cap = kProfileWork;
    if (choice.token_limit > 0)
      cap = std::min(cap, int64_t(static_cast<__int128>(kProfileWork) * whole_cap() / 64 *
                                  choice.token_limit / total_tokens_));
    Choice key;
    key.num_waves = choice.num_waves;
    key.token_limit = choice.token_limit;
    key.largest = choice.largest;
    const auto found = profiles_.find(key);
    if (found != profiles_.end()) return found->second;
    return profiles_[key] = pipeline_profile(shape_, choice.num_waves, std::min(largest, kProfileWork), cap);
  }
  /// Takes a plan if it is the fastest so far.
  bool offer(Plan plan) {
    const int64_t total = simulate_pipeline(plan, batch_.cost_model, shape_).total_ns;
    if (best_ns_ > 0 && total >= best_ns_) return false;
    best_ns_ = total;
    best_plan_ = std::move(plan);
    return true;
  }
  /// Planners whose sizes are fixed beforehand find no place for some samples that fit.
  static void add_unless_refused(std::vector<Plan>& plans, const auto& make) {
    try {
      plans.push_back(make());
    } catch (const Error&) {}
  }
  /// Plans that know nothing of stages, as they are and with their waves in better orders.
  void offer_plans_of_others() {
    constexpr int64_t kManyShards = 256;  // planning lock-step waves of more takes long
    Cluster together = batch_.cluster;
    together.execution = Execution::kWaves;
    int64_t shards = 0;
    for (int64_t tokens : lengths_)
      shards += (tokens + together.tokens_per_slot - 1) / together.tokens_per_slot;
    std::vector<Plan> plans{plan_elastic(lengths_, batch_.cost_model, batch_.cluster),
                            plan_dynamic(lengths_, batch_.cost_model, batch_.cluster)};
    if (shards <= kManyShards) {
      plans.push_back(plan_elastic(lengths_, batch_.cost_model, together));
      plans.push_back(plan_dynamic(lengths_, batch_.cost_model, together));
    }
    add_unless_refused(plans, [&] { return plan_greedy_waves(lengths_, batch_.cluster); });
    add_unless_refused(plans,
                       [&] { return make_plan({"static"}, lengths_, batch_.cost_model, batch_.cluster); });
    add_unless_refused(plans, [&] { return plan_bags(lengths_, batch_.cost_model, batch_.cluster, ""); });
    StaticChoice balanced = best_static_balanced(lengths_, batch_.cost_model, batch_.cluster, INT64_MAX);
    if (balanced.cp > 0) plans.push_back(std::move(balanced.plan));
    for (Plan& plan : plans) {
      for (const std::vector<size_t>& order : wave_orders(plan)) {
        Plan ordered;
        for (size_t wave : order) ordered.waves.push_back(plan.waves[wave]);
        offer(std::move(ordered));
      }
      offer(std::move(plan));
    }
  }
  /// Waves by the time of their slowest slot: rising, falling, rising and falling.
  std::vector<std::vector<size_t>> wave_orders(const Plan& plan) const {
    std::vector<int64_t> slowest;
    for (const Wave& wave : plan.waves) {
      const std::vector<int64_t> busy = makespan_of(Plan{{wave}}, batch_.cost_model).busy_ns;
      slowest.push_back(*std::max_element(busy.begin(), busy.end()));
    }
    std::vector<size_t> rising(plan.waves.size());
    std::iota(rising.begin(), rising.end(), size_t(0));
    std::stable_sort(rising.begin(), rising.end(),
                     [&](size_t a, size_t b) { return slowest[a] < slowest[b]; });
    std::vector<size_t> hill;
    for (size_t i = 0; i < rising.size(); i += 2) hill.push_back(rising[i]);
    for (size_t i = rising.size() / 2 * 2; i > 0; i -= 2) hill.push_back(rising[i - 1]);
    return {rising, {rising.rbegin(), rising.rend()}, hill};
  }
  /// Tries a choice; true when it is the best so far.
  bool attempt(const Choice& choice) {
    if (choice.num_waves < 1 || (best_ns_ > 0 && best_ns_ <= good_ns_) || !tried_.insert(choice).second)
      return false;
    constexpr int64_t kEffort = 60'000'000;  // samples x places looked at, over all choices
    effort_ += int64_t(batch_.tokens.size()) * (choice.num_waves + batch_.cluster.num_slots);
    if (best_ns_ > 0 && effort_ > kEffort) return false;
    const PipelineProfile& profile = profile_of(choice);
    const __int128 work = shape_.forward_ns(work_ns_) + shape_.backward_ns(work_ns_);
    if (best_ns_ > 0 && (work << 20) / profile.efficiency >= best_ns_) return false;
    std::vector<int64_t> wave_ns;
    for (int64_t size : profile.sizes)
      wave_ns.push_back(batch_.cost.wave + int64_t(static_cast<__int128>(size) * packed_ns_ * choice.stretch /
                                                   1024 / kProfileWork));
    int64_t busy = 0;
    Plan plan = pack_waves(batch_, wave_ns, {choice.by_density, choice.waste, choice.spread}, busy);
    if (!offer(std::move(plan))) return false;
    best_ = choice;
    packed_ns_ = std::max(work_ns_, busy / batch_.cluster.num_slots);
    return true;
  }
  /// Moves one choice at a time from the best; true when something helped.
  bool improve() {
    const int64_t before = best_ns_;
    const auto vary = [&](auto Choice::*part, std::initializer_list<int64_t> values) {
      for (int64_t value : values) {
        Choice choice = best_;
        choice.*part = value;
        attempt(choice);
      }
    };
    vary(&Choice::stretch, {1024, 1034, 1050, 1080});
    vary(&Choice::token_limit, {0, 64, 60});
    for (int64_t spread : spreads()) vary(&Choice::spread, {spread});
    vary(&Choice::waste, {1, 8, 32, 1 << 20});
    vary(&Choice::by_density, {0, 1});
    const int64_t count = best_.num_waves;
    vary(&Choice::num_waves,
         {count - count / 10 - 1, count - count / 25 - 1, count + count / 25 + 1, count + count / 10 + 1});
    vary(&Choice::largest, {1024, 1100, 1300});
    return best_ns_ < before;
  }

  const std::vector<int64_t>& lengths_;
  PipelineBatch batch_;
  PipelineShape shape_;
  int64_t work_ns_ = 0, largest_ns_ = 0, total_tokens_ = 0;
  int64_t packed_ns_ = 0;  ///< work of a slot with what rings cost more, in the best plan
  std::map<Choice, PipelineProfile> profiles_;
  std::set<Choice> tried_;
  int64_t effort_ = 0;
  Plan best_plan_;
  int64_t best_ns_ = 0;
  int64_t good_ns_ = 0;  ///< so near to the bound that the search ends
  Choice best_;
};

}  // namespace

Plan plan_pipeline(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
                   const PipelineShape& shape) {
  check_batch(lengths, cluster);
  check_shape(shape);
  if (lengths.empty()) return {};
  return PipelineSearch(lengths, cost, cluster, shape).search();
}

}  // namespace zoetrope
