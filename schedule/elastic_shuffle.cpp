// Elastic planner: stacks whose rings stand in an order that is searched for at random.
#include <algorithm>
#include <bit>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "schedule/elastic_stack.h"

namespace zoetrope {
namespace {

// Note [Shuffled rings]
// For a time a little below the best one the rings are stacked in some order, and what finds no place is left
// out. Any ring moves to another place in the order, or one that was left out further to the front; the
// change stays if not more is left out, or little more: the less, the longer the search goes on. What rings
// waste counts in part, since it shows sooner. Once all find a place a lower time is tried. After so many
// attempts in vain the search begins anew from the last order that served, weighs waste in another way, and
// takes other changes for the better. All random numbers are the same on every rank.

constexpr int64_t kAttempts = 1000;   // in vain
constexpr int64_t kStep = 512;        // parts of the bound by which a time is lower than the one before
constexpr int64_t kGoodEnough = 100;  // within such a part of the bound nothing more is tried
constexpr int64_t kHopeless = 8;      // nor beyond such a part: it isn't the order that keeps plans there
// Planning takes one part in so many of a step that lasts long, and no longer than that.
constexpr int64_t kLongStepNs = 60'000'000'000, kPartOfStep = 32, kMostNs = 2'500'000'000;
constexpr int64_t kAttemptNs = 1000;  // of an attempt, about, for each sample on up to so many ranks
constexpr int64_t kAttemptSlots = 64;

int64_t most_attempts(const ElasticBatch& batch, int64_t excess) {
  if (batch.bound_ns < kLongStepNs || excess > batch.bound_ns / kHopeless) return 0;
  const int64_t parts = (batch.cluster.num_slots + kAttemptSlots - 1) / kAttemptSlots;
  return std::min(batch.bound_ns / kPartOfStep, kMostNs) / (kAttemptNs * batch.num_samples() * parts);
}

class Shuffle {
 public:
  Shuffle(const ElasticBatch& batch, RingSizes& sizes, const RingOrder& start, int64_t excess)
      : batch_(batch),
        sizes_(sizes),
        start_(start),
        excess_(excess),
        attempts_left_(most_attempts(batch, excess)) {
    start_.tally.emplace();
    while (num_rings_ < batch.num_samples() &&
           batch.tokens[size_t(num_rings_)] > batch.cluster.tokens_per_slot)
      ++num_rings_;
  }

  /// The fastest stack found; its excess over the bound is `excess()`.
  std::optional<BlockDraft> run() {
    constexpr int64_t kWasteParts[] = {8, 2, 100}, kCold[] = {5000, 20000, 60000};
    if (num_rings_ < 2) return std::nullopt;
    for (size_t i = 0; goes_on(); ++i) search({kWasteParts[i % 3], kCold[i / 3 % 3]});
    return std::move(best_);
  }
  int64_t excess() const { return excess_; }

 private:
  struct Style {
    int64_t waste_part;  ///< of what rings waste so small a part counts
    int64_t cold;        ///< parts of the whole step by which a change may be worse, at first
  };

  bool goes_on() const { return attempts_left_ > 0 && excess_ > batch_.bound_ns / kGoodEnough; }
  bool attempt(RingOrder& order) {
    --attempts_left_;
    const int64_t lower = excess_ - batch_.bound_ns / kStep;
    std::optional<BlockDraft> found =
        stack_within(batch_, sizes_, batch_.bound_ns + lower, {1, true}, &order);
    if (!found) return false;
    best_.emplace(*std::move(found));
    excess_ = lower;
    start_ = order;
    return true;
  }

  int64_t pick(int64_t below) { return int64_t(random_() % uint64_t(below)); }
  /// Where a ring stands and where it moves to: any, or one that found no place, to the front.
  std::pair<int64_t, int64_t> any_move(const RingOrder& order) {
    const std::vector<int64_t>& left_out = order.tally->rings;
    if (left_out.empty() || pick(2) == 0) return {pick(num_rings_), pick(num_rings_)};
    const int64_t ring = left_out[size_t(pick(int64_t(left_out.size())))];
    const int64_t from = std::find(order.items().begin(), order.items().end(), ring) - order.items().begin();
    return {from, pick(from + 1)};
  }

  void search(const Style& style) {
    const auto value_of = [&](const RingOrder& order) {
      return order.tally->missing_ns + order.tally->waste_ns / style.waste_part;
    };
    RingOrder order = start_;
    while (goes_on()) {
      if (attempt(order)) continue;
      int64_t now = value_of(order);
      bool found = false;
      for (int64_t i = 0; i < kAttempts; ++i) {
        if (!goes_on()) return;
        const auto [from, to] = any_move(order);
        order.move(from, to);
        found = attempt(order);
        if (found) break;
        const int64_t heat = int64_t(__int128(batch_.bound_ns) * batch_.cluster.num_slots * (kAttempts - i) /
                                     (style.cold * kAttempts));
        if (value_of(order) <= now + heat * std::countl_zero(random_() | 1)) now = value_of(order);
        else order.move(to, from);
      }
      if (!found) return;
    }
  }

  const ElasticBatch& batch_;
  RingSizes& sizes_;
  RingOrder start_;  ///< the last that served
  int64_t excess_, attempts_left_, num_rings_ = 0;
  std::mt19937_64 random_{1};
  std::optional<BlockDraft> best_;
};

}  // namespace

void offer_shuffled(const ElasticBatch& batch, const RingOrder& start, BestPlan& best) {
  if (!best.plan) return;
  RingSizes sizes(batch.tokens, batch.cost, batch.cluster);
  Shuffle shuffle(batch, sizes, start, best.total_ns - batch.cost.allreduce - batch.bound_ns);
  if (std::optional<BlockDraft> draft = shuffle.run())
    offer_draft(batch, *std::move(draft), batch.bound_ns + shuffle.excess(), best);
}

}  // namespace zoetrope
