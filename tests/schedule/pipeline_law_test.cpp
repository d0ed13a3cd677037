// Pipelines on paper: the bound against all plans of small batches, the simulation against a second one, and
// random planning problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "schedule/pipeline.h"
#include "schedule/planner.h"
#include "schedule/ring_price.h"
#include "tests/support/random_cost.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + int64_t(random() % uint64_t(high - low + 1));
}

PipelineShape random_shape(std::mt19937_64& random, int64_t most_stages) {
  PipelineShape shape{pick(random, 1, most_stages), pick(random, 1, 3), pick(random, 1, 4)};
  shape.recompute_parts = pick(random, 0, 1) * shape.forward_parts;
  return shape;
}

/// A plan of the same samples without the waves that have no tokens.
Plan without_empty_waves(Plan plan) {
  std::erase_if(plan.waves, [](const Wave& wave) {
    return std::all_of(wave.slots.begin(), wave.slots.end(), [](const auto& slot) { return slot.empty(); });
  });
  list_rings(plan);
  return plan;
}

/// Least makespan of all plans within the caps: every wave and every cut of every sample.
class BruteForce {
 public:
  BruteForce(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster,
             const PipelineShape& shape)
      : lengths_(lengths), cost_(cost), cluster_(cluster), shape_(shape) {
    plan_.waves.assign(lengths.size(), {std::vector<std::vector<Shard>>(size_t(cluster.num_slots)), {}});
  }
  int64_t search() {
    place(0, 0, 0, 0);
    return best_;
  }

 private:
  /// Lays what is left of the sample from token `begin` on slots from `slot` on.
  void place(size_t sample, size_t wave, size_t slot, int64_t begin) {
    if (sample == lengths_.size()) {
      Plan plan = without_empty_waves(plan_);
      best_ = std::min(best_, simulate_pipeline(plan, cost_, shape_).total_ns);
      if (cost_.num_heads == 0) return;
      choose_exchanges(plan, FixedCost(cost_));
      best_ = std::min(best_, simulate_pipeline(plan, cost_, shape_).total_ns);
      return;
    }
    if (begin == lengths_[sample]) return place(sample + 1, 0, 0, 0);
    if (begin == 0 && slot == 0 && wave + 1 < plan_.waves.size()) place(sample, wave + 1, 0, 0);
    if (slot == size_t(cluster_.num_slots)) return;
    place_from(sample, wave, slot + 1, begin);
    std::vector<Shard>& shards = plan_.waves[wave].slots[slot];
    const int64_t room = cluster_.tokens_per_slot - tokens_of(shards);
    if (cluster_.segments_per_slot > 0 && int64_t(shards.size()) == cluster_.segments_per_slot) return;
    for (int64_t end = begin + 1; end <= std::min(lengths_[sample], begin + room); ++end) {
      shards.push_back({int64_t(sample), begin, end});
      place_from(sample, wave, slot + 1, end);
      shards.pop_back();
    }
  }
  /// As `place`, in this wave only.
  void place_from(size_t sample, size_t wave, size_t slot, int64_t begin) {
    if (begin == lengths_[sample]) return place(sample + 1, 0, 0, 0);
    if (slot < size_t(cluster_.num_slots)) place(sample, wave, slot, begin);
  }

  const std::vector<int64_t>& lengths_;
  const CostModel& cost_;
  const Cluster& cluster_;
  const PipelineShape& shape_;
  Plan plan_;
  int64_t best_ = INT64_MAX;
};

TEST(PipelineBound, NeverExceedsTheBestOfAllPlans) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  double worst_plan = 1, worst_bound = 1;
  for (int run = 0; run < rounds(1000); ++run) {
    const int64_t slots = pick(random, 1, 3), samples = pick(random, 1, slots == 1 ? 5 : slots == 2 ? 3 : 2);
    const Cluster cluster{slots, pick(random, 1, 9), pick(random, 0, 3) == 0 ? pick(random, 1, 2) : 0};
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < samples; ++i)
      lengths.push_back(
          pick(random, 1, std::min<int64_t>(slots * cluster.tokens_per_slot, slots == 1 ? 9 : 6)));
    CostModel cost = random_cost(random);
    cost.quadratic_ns *= double(pick(random, 1, 1000));  // short samples: let attention matter
    cost.mates_end_together = pick(random, 0, 1) == 1;
    const PipelineShape shape = random_shape(random, 5);
    const int64_t best = BruteForce(lengths, cost, cluster, shape).search();
    const int64_t bound = pipeline_bound(lengths, cost, cluster, shape);
    const int64_t planned =
        simulate_pipeline(plan_pipeline(lengths, cost, cluster, shape), cost, shape).total_ns;
    ASSERT_LE(bound, best) << "seed " << seed << " run " << run;
    ASSERT_GE(planned, best) << "seed " << seed << " run " << run;
    worst_plan = std::max(worst_plan, double(planned) / double(best));
    worst_bound = std::max(worst_bound, double(best) / double(bound));
  }
  std::printf("%d batches: planned at most %.3f x the best plan, that at most %.3f x the bound\n",
              rounds(1000), worst_plan, worst_bound);
}

/// A plan that only has to be valid: any wave, any slots, any cuts.
Plan random_plan(std::mt19937_64& random, int64_t slots, int64_t samples) {
  Plan plan;
  plan.waves.assign(size_t(pick(random, 1, 8)), {std::vector<std::vector<Shard>>(size_t(slots)), {}});
  for (int64_t sample = 0; sample < samples; ++sample) {
    Wave& wave = plan.waves[size_t(pick(random, 0, int64_t(plan.waves.size()) - 1))];
    const int64_t pieces = pick(random, 1, 2) == 1 ? 1 : pick(random, 1, 2 * slots);
    for (int64_t piece = 0, begin = 0; piece < pieces; ++piece) {
      const int64_t end = begin + pick(random, 1, 300);
      wave.slots[size_t(pick(random, 0, slots - 1))].push_back({sample, begin, end});
      begin = end;
    }
  }
  list_rings(plan);
  return plan;
}

/// The makespan as the least solution of what operations wait for, by repeated passes in no special order.
int64_t makespan_by_passes(const Plan& plan, const CostModel& cost, const PipelineShape& shape) {
  const size_t slots = size_t(plan.num_slots()), stages = size_t(shape.num_stages), waves = plan.waves.size();
  std::vector<std::vector<size_t>> order(stages);  // per stage: 2 wave + backward
  for (size_t k = 0; k < stages; ++k) {
    const size_t warm = std::min(stages - k, waves);
    for (size_t w = 0; w < warm; ++w) order[k].push_back(2 * w);
    for (size_t w = 0; w < waves; ++w) {
      order[k].push_back(2 * w + 1);
      if (w + warm < waves) order[k].push_back(2 * (w + warm));
    }
  }
  const auto at = [&](size_t op, size_t slot, size_t stage) { return (op * slots + slot) * stages + stage; };
  std::vector<int64_t> end(2 * waves * slots * stages, 0);
  std::vector<Makespan> alone;
  for (const Wave& wave : plan.waves) alone.push_back(makespan_of(Plan{{wave}}, cost));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < stages; ++k)
      for (size_t i = 0; i < order[k].size(); ++i) {
        const size_t op = order[k][i], w = op / 2;
        const bool backward = op % 2 == 1;
        std::vector<int64_t> ready(slots, 0), start, length = alone[w].busy_ns;
        for (size_t s = 0; s < slots; ++s) {
          if (i > 0) ready[s] = end[at(order[k][i - 1], s, k)];
          if (length[s] == 0) continue;
          if (backward)
            ready[s] = std::max(ready[s], k + 1 < stages ? end[at(op, s, k + 1)] : end[at(2 * w, s, k)]);
          else if (k > 0) ready[s] = std::max(ready[s], end[at(op, s, k - 1)]);
        }
        start = ready;
        const std::vector<RingView> rings = split_samples(plan.waves[w]);
        for (size_t pass = 0; pass < (cost.mates_end_together ? slots : 1); ++pass)
          for (const RingView& ring : rings) {
            int64_t latest = 0, longest = 0;
            for (int s : ring.members) {
              latest = std::max(latest, cost.mates_end_together ? start[size_t(s)] : ready[size_t(s)]);
              longest = std::max(longest, length[size_t(s)]);
            }
            for (int s : ring.members) {
              start[size_t(s)] = std::max(start[size_t(s)], latest);
              if (cost.mates_end_together) length[size_t(s)] = longest;
            }
          }
        for (size_t s = 0; s < slots; ++s) {
          const int64_t time = backward ? shape.backward_ns(length[s]) : shape.forward_ns(length[s]);
          if (end[at(op, s, k)] == start[s] + time) continue;
          end[at(op, s, k)] = start[s] + time;
          changed = true;
        }
      }
  }
  return *std::max_element(end.begin(), end.end());
}

TEST(Pipeline, AnyValidPlanEndsAndWhenASecondSimulationSays) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < rounds(1000); ++run) {
    const Plan plan = random_plan(random, pick(random, 1, 6), pick(random, 1, 20));
    CostModel cost = random_cost(random);
    cost.mates_end_together = pick(random, 0, 1) == 1;
    cost.allreduce_ns = 0;
    const PipelineShape shape = random_shape(random, 6);
    const PipelineRun result = simulate_pipeline(plan, cost, shape);
    ASSERT_EQ(result.total_ns, makespan_by_passes(plan, cost, shape)) << "seed " << seed << " run " << run;
    for (int64_t slot = 0; slot < plan.num_slots(); ++slot)
      for (int64_t stage = 0; stage < shape.num_stages; ++stage)
        ASSERT_LE(result.batches_in_flight[size_t(slot * shape.num_stages + stage)],
                  shape.in_flight(stage, int64_t(plan.waves.size())))
            << "seed " << seed << " run " << run;
  }
}

TEST(PlanPipeline, CoversAndFitsAnyBatchAndNeverBeatsTheBound) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  double worst = 1;
  for (int run = 0; run < rounds(120); ++run) {
    const int64_t slots = pick(random, 1, 40),
                  cap = pick(random, 1, 4) == 1 ? pick(random, 1, 60) : pick(random, 61, 3001);
    const Cluster cluster{slots, cap, pick(random, 0, 2) == 0 ? pick(random, 1, 5) : 0};
    std::vector<int64_t> lengths;
    const int64_t kind = pick(random, 0, 2);
    for (int64_t n = pick(random, 1, 60); n > 0; --n)
      lengths.push_back(kind == 0 ? pick(random, 1, cap) : pick(random, 1, pick(random, 1, slots * cap)));
    CostModel cost = random_cost(random);
    cost.mates_end_together = pick(random, 0, 1) == 1;
    const PipelineShape shape = random_shape(random, 8);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " run " << run);
    const Plan plan = plan_pipeline(lengths, cost, cluster, shape);
    ASSERT_NO_THROW(validate_plan(plan, lengths, slots));
    ASSERT_LE(max_tokens_per_slot(plan), cap);
    if (cluster.segments_per_slot > 0) { ASSERT_LE(max_segments_per_slot(plan), cluster.segments_per_slot); }
    const int64_t total = simulate_pipeline(plan, cost, shape).total_ns;
    const int64_t bound = pipeline_bound(lengths, cost, cluster, shape);
    ASSERT_GE(total, bound);
    for (const char* other : {"elastic", "dynamic", "greedy-waves", "static", "static-balanced"}) {
      if (fixes_cp_size(other) && feasible_cp_sizes(lengths, cluster).empty()) continue;
      const Plan rival = make_plan({other, 0}, lengths, cost, cluster);
      ASSERT_LE(total, simulate_pipeline(rival, cost, shape).total_ns) << other;
    }
    ASSERT_EQ(hash_of(plan), hash_of(plan_pipeline(lengths, cost, cluster, shape)));
    worst = std::max(worst, double(total) / double(bound));
  }
  std::printf("%d batches: at most %.3f x the bound\n", rounds(200), worst);
}

}  // namespace
}  // namespace zoetrope
