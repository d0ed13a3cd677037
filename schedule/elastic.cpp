// The elastic planner: candidates of several kinds, the fastest predicted one wins. Static-balanced plans are
// candidates too, so that the result is never slower than the best of them (kMostStaticShards says which).
#include "schedule/elastic.h"

#include <algorithm>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/elastic_stack.h"
#include "schedule/even_shards.h"
#include "schedule/planner.h"
#include "schedule/ring_price.h"
#include "schedule/static.h"
#include "schedule/waves.h"

namespace zoetrope {
namespace {

// Balanced static plans larger than this are no candidates where a plan is within 0.5 % of the bound: where
// links cost nothing, every sample on every rank would gain the rest, and be too large a plan to use.
constexpr int64_t kMostStaticShards = 1 << 17;
constexpr int64_t kSmallBatch = 64;        // samples up to which more ways of pouring are tried
constexpr int kRounds = 4;                 // of bisecting the excess of a stack over the bound
constexpr int64_t kMostForRivals = 65536;  // samples x ranks up to which other planners' plans are candidates
constexpr int64_t kMostForDynamic = 4096;  // the same for the dynamic one, which takes long, near the bound
constexpr int64_t kFewRings = 256;         // samples up to which more orders of the rings are tried
constexpr int64_t kMostExcess = 64;        // times the bound: nothing will be found

/// True when a plan is within a part of the bound.
bool is_within(const ElasticBatch& batch, const BestPlan& best, int64_t part) {
  return best.plan && best.total_ns - batch.cost.allreduce <= batch.bound_ns + batch.bound_ns / part;
}

/// True when a plan is so near the bound that more candidates are not worth their time.
bool good_enough(const ElasticBatch& batch, const BestPlan& best) {
  return best.plan && best.total_ns - batch.cost.allreduce <= batch.bound_ns + batch.tolerance_ns();
}
/// The same for pouring large batches, which takes longer than stacking them: 1 %.
bool good_enough_for_large(const ElasticBatch& batch, const BestPlan& best) {
  return batch.num_samples() > kSmallBatch && is_within(batch, best, 100);
}

/// How the lowest time of a stack is searched.
struct StackSearch {
  int64_t first, factor;  ///< excess over the bound in ns where there is no plan to be beaten; then so many
                          ///< times that
  int64_t enough;         ///< excess that is not worth bisecting
  int64_t finest = 0;     ///< halved down to it where the first was reached; 0: not
};

/// The stack with the lowest time found: gallops up from the bound unless there is a plan to be beaten, until
/// a style serves, then bisects with that one.
void offer_lowest_stack(const ElasticBatch& batch, RingSizes& sizes, const StackSearch& search,
                        const std::vector<StackStyle>& styles, BestPlan& best) {
  std::optional<BlockDraft> draft;
  StackStyle style = styles[0];
  int64_t low = 0, high = best.plan ? best.total_ns - batch.cost.allreduce - batch.bound_ns : 0;
  const auto attempt = [&](int64_t excess) {
    std::optional<BlockDraft> found = stack_within(batch, sizes, batch.bound_ns + excess, style);
    (found ? high : low) = excess;
    if (found) draft.emplace(*std::move(found));
    return found.has_value();
  };
  for (int64_t excess = search.first; !best.plan && !draft; excess *= search.factor) {
    if (excess > kMostExcess * batch.bound_ns) return;
    for (size_t i = 0; i < styles.size() && !draft; ++i) {
      style = styles[i];
      if (attempt(excess)) low = excess / search.factor;
    }
  }
  for (int round = 0; round < kRounds && high > search.enough; ++round) attempt(low + (high - low) / 2);
  if (draft && high == search.first && search.finest > 0)
    while (high > search.finest && attempt(high / 2)) {}
  if (draft) offer_draft(batch, *std::move(draft), batch.bound_ns + high, best);
}

/// Tries lower and lower times, a tenth of the excess over the bound at a time, and other orders of the rings
/// where one fails: Note [Promoted rings]. Returns the last order that served.
RingOrder offer_reordered(const ElasticBatch& batch, RingSizes& sizes, BestPlan& best) {
  RingOrder kept(batch.num_samples());
  if (!best.plan) return kept;
  const int64_t few = batch.num_samples() <= kFewRings ? 100 : 32;  // attempts
  std::optional<BlockDraft> draft;
  RingOrder order(batch.num_samples());
  int64_t excess = best.total_ns - batch.cost.allreduce - batch.bound_ns;
  for (int64_t i = 0; i < few && excess > batch.bound_ns / 100; ++i) {
    const int64_t lower = excess - excess / 10;
    std::optional<BlockDraft> found = stack_within(batch, sizes, batch.bound_ns + lower, {1, true}, &order);
    if (!found) {
      order.promote();
      continue;
    }
    draft.emplace(*std::move(found));
    excess = lower;
    order.keep();
    kept = order;
  }
  if (draft) offer_draft(batch, *std::move(draft), batch.bound_ns + excess, best);
  return kept;
}

/// In pools of nodes rings on half nodes fit together best, with no slots left between them, where larger
/// rings cost little more; else a quarter, or any place, with as many left as small samples fill. The larger
/// the batch the less is tried.
void offer_stacks_on_nodes(const ElasticBatch& batch, RingSizes& sizes, RingOrder& order, BestPlan& best) {
  constexpr int64_t kMedium = 1024, kLarge = 8192;  // samples
  const int64_t per_node = batch.cost.ranks_per_node, num_samples = batch.num_samples();
  const int64_t tolerance = std::max<int64_t>(1, batch.tolerance_ns());
  const StackStyle anywhere, halves{std::max<int64_t>(1, per_node / 2), false};
  if (num_samples > kLarge)
    return offer_lowest_stack(batch, sizes, {tolerance, 2, batch.bound_ns / 128, 0}, {halves, anywhere},
                              best);
  StackSearch search{std::max<int64_t>(1, tolerance / 2), 2, tolerance, tolerance / 32};
  if (num_samples > kMedium) search = {tolerance, 4, batch.bound_ns / 512, 0};
  for (const StackStyle& style :
       {anywhere, halves, {std::max<int64_t>(1, per_node / 4), true}, StackStyle{1, true}}) {
    offer_lowest_stack(batch, sizes, search, {style}, best);
    if (is_within(batch, best, num_samples > kMedium ? 100 : 200)) return;
  }
  if (num_samples <= kMedium) order = offer_reordered(batch, sizes, best);
}

void offer_stacks(const ElasticBatch& batch, RingOrder& order, BestPlan& best) {
  RingSizes sizes(batch.tokens, batch.cost, batch.cluster);
  if (batch.has_places()) return offer_stacks_on_nodes(batch, sizes, order, best);
  const int64_t tolerance = batch.tolerance_ns();
  offer_lowest_stack(batch, sizes, {std::max<int64_t>(1, tolerance / 2), 2, tolerance, 0}, {StackStyle{}},
                     best);
}

void offer_poured(const ElasticBatch& batch, BestPlan& best) {
  const int64_t cap = batch.cluster.num_slots * batch.cluster.tokens_per_slot;
  int64_t fewest = (batch.total_tokens + cap - 1) / cap;
  if (batch.cluster.segments_per_slot > 0)
    fewest = std::max(fewest,
                      (batch.num_samples() + batch.cluster.num_slots * batch.cluster.segments_per_slot - 1) /
                          (batch.cluster.num_slots * batch.cluster.segments_per_slot));
  const bool small = batch.num_samples() <= kSmallBatch;
  const int64_t most_held = small ? std::min<int64_t>(4, batch.num_samples()) : 0;
  int successes = 0;
  for (int64_t waves = fewest; waves <= batch.num_samples() && successes < (small ? 3 : 1); ++waves) {
    bool fits = false;
    for (int64_t held = 0; held <= most_held && !good_enough(batch, best); ++held)
      for (const bool proportional : {false, true}) {
        std::optional<Plan> plan = plan_poured(batch, {waves, held, proportional});
        if (!plan) continue;
        fits = true;
        best.offer(*std::move(plan), batch.cost_model);
      }
    successes += fits;
    if (good_enough(batch, best) || (best.plan && waves > fewest + 8)) return;
  }
}

/// Other planners' plans, where planning them is affordable: if the best is far from the bound, and on nodes
/// also if it is not as good as the bound and a step has many samples, and so lasts much longer than
/// planning.
void offer_rivals(const ElasticBatch& batch, const std::vector<int64_t>& lengths, BestPlan& best) {
  constexpr int64_t kAsGood = 1'000'000;  // parts of the bound
  constexpr int64_t kManySamples = 512;
  const int64_t size = batch.num_samples() * batch.cluster.num_slots;
  const bool lasts_long = batch.has_places() && batch.num_samples() >= kManySamples;
  if (is_within(batch, best, lasts_long ? kAsGood : 100) || size > kMostForRivals) return;
  best.offer(plan_greedy_waves(lengths, batch.cluster), batch.cost_model);
  if (lasts_long || size <= kMostForDynamic || !is_within(batch, best, 12))
    best.offer(plan_dynamic(lengths, batch.cost_model, batch.cluster), batch.cost_model);
}

}  // namespace

ElasticBatch::ElasticBatch(const std::vector<int64_t>& lengths, const CostModel& cost_set,
                           const Cluster& cluster_value)
    : sample(by_descending_length(lengths)), cost_model(cost_set), cost(cost_set), cluster(cluster_value) {
  for (int64_t index : sample) {
    tokens.push_back(lengths[size_t(index)]);
    whole_ns.push_back(cost.whole(tokens.back()));
    total_tokens += tokens.back();
    total_ns += whole_ns.back();
  }
  bound_ns = std::max(lower_bound_time(tokens, cost, cluster),
                      giants_bound_time(tokens, cost, cluster, cost_model.mates_end_together));
}

void BestPlan::offer(Plan candidate, const CostModel& cost) {
  choose_exchanges(candidate, FixedCost(cost));
  const int64_t total = makespan_of(candidate, cost, execution).total_ns;
  if (plan && total >= total_ns) return;
  plan = std::move(candidate);
  total_ns = total;
}

Plan plan_elastic(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster) {
  check_batch(lengths, cluster);
  if (lengths.empty()) return {};
  BestPlan best(cluster.execution);
  int64_t most_shards = INT64_MAX;
  if (cluster.execution == Execution::kWaves) {
    if (std::optional<Plan> plan = plan_waves(lengths, cost, cluster)) best.offer(*std::move(plan), cost);
  } else {
    const ElasticBatch batch(lengths, cost, cluster);
    RingOrder order(batch.has_places() ? batch.num_samples() : 0);
    offer_stacks(batch, order, best);
    // Pouring knows nothing of nodes; there it is for batches that are too small to be stacked well.
    const bool pours = batch.num_samples() <= kSmallBatch || !batch.has_places() || !best.plan;
    if (pours && !good_enough(batch, best) && !good_enough_for_large(batch, best)) offer_poured(batch, best);
    offer_rivals(batch, lengths, best);
    if (batch.has_places() && batch.num_samples() <= kFewRings) offer_shuffled(batch, order, best);
    if (is_within(batch, best, 200)) most_shards = kMostStaticShards;
  }
  StaticChoice fixed = best_static_balanced(lengths, cost, cluster, best.total_ns, most_shards);
  if (fixed.cp > 0) best.plan = std::move(fixed.plan);  // it is faster than what there was
  ZT_REQUIRE(best.plan.has_value(), "elastic plan: ", lengths.size(), " samples found no place with ",
             cluster.num_slots, " ranks, ", cluster.tokens_per_slot, " tokens and ",
             cluster.segments_per_slot, " segments per rank; raise the memory per rank");
  return *std::move(best.plan);
}

}  // namespace zoetrope
