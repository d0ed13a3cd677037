// Lower bound on the makespan of any plan on pipelines.
#include <algorithm>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/pipeline.h"

namespace zoetrope {
namespace {

// Note [Pipeline bound]
// Take any plan with makespan T (without the all-reduce) and one of its pipelines that has tokens. Per stage,
// micro-batch i takes f_i forward and b_i backward, w_i = f_i + b_i, W their sum; p stages; waits for ring
// mates only add. Each path through the operations in 1F1B order is a lower bound on T. Let j be any
// micro-batch, 1 the first and m the last with tokens.
//  A. Stage 0 up to F_j, F_j through all stages, the last stage to its end, B_m back to stage 0. Before F_j
//     stage 0 has run all but the backwards of the p - 1 micro-batches before j, so
//         T >= W + (p - 1) f_j + (p - 1) b_m - (b_{j-p+1} + ... + b_{j-1}).
//  B. F_1 through all stages, the last stage up to B_j, B_j back to stage 0, stage 0 to its end. After B_j
//  all
//     that stage 0 lacks of the rest are the forwards of the p - 1 micro-batches behind j:
//         T >= W + (p - 1) f_1 + (p - 1) b_j - (f_{j+1} + ... + f_{j+p-1}).
//  C. Stage 0 up to F_j, F_j and B_j through all stages, stage 0 to its end:
//         T >= W + (p - 1) w_j - (b_{j-p+1} + ... + b_{j-1}) - (f_{j+1} + ... + f_{j+p-1}).
// With j the largest micro-batch and x its w_j, f = F x and b = (1 - F) x for all alike:
//  1. B, or A where F > 1/2:  T >= W + (p - 1) |1 - 2F| x + (p - 1) min(F, 1 - F) y, y the least that a
//     micro-batch can take: more waves don't help against the largest one.
//  2. C, neighbours at most all the rest:  T >= W + (p - 1) x - max(F, 1 - F) (W - x).
//  3. F A + (1 - F) B, neighbours at most the rest:  T >= W + (p - 1) (F F + (1-F)(1-F)) x - F (1-F) (W - x).
// All three grow with W and x, so they hold for lower bounds of these, summed over the pipelines: the sum of
// W is at least the dual bound's work (Note [Dual bound] in bound.cpp), a p-th of it per stage, and a
// pipeline's x at least the largest sample's shard on it, so that the sum of x is at least that sample's
// work. A shard passes p stages forward and backward, so it can't take more than T in all: that bounds ring
// sizes from below as in the dual bound. Times in a simulation round up to whole ns; the sums that are taken
// off may be above their share by one ns each, which the 2 p ns below make good.

class Feasibility {
 public:
  Feasibility(const std::vector<int64_t>& lengths, const FixedCost& cost, const Cluster& cluster,
              const PipelineShape& shape)
      : lengths_(lengths), cost_(cost), cluster_(cluster), shape_(shape) {
    for (int64_t tokens : lengths) total_tokens_ += tokens;
  }
  /// False when no plan ends within `time` per the three inequalities.
  bool operator()(int64_t time) const {
    const __int128 forward = shape_.forward_parts, p = shape_.num_stages;
    const __int128 backward = shape_.backward_parts + shape_.recompute_parts, parts = forward + backward;
    const __int128 counted = shape_.forward_parts + shape_.backward_parts;
    const int64_t limit = int64_t(static_cast<__int128>(time) * counted / parts) - cost_.wave;
    __int128 work = 0, largest = 0;
    if (!sums(limit, work, largest)) return false;
    const __int128 least = cost_.wave + cost_.segment + FixedCost::scale_down(cost_.linear, 1) +
                           FixedCost::scale_down(cost_.quadratic, 1);
    const __int128 have = cluster_.num_slots * counted * p * (static_cast<__int128>(time) + 2 * p);
    const __int128 more = std::max(forward, backward), less = std::min(forward, backward);
    return have >= parts * work + (p - 1) * (more - less) * largest +
                       cluster_.num_slots * (p - 1) * less * least &&
           have >= less * work + ((p - 1) * parts + more) * largest &&
           have * parts >=
               (parts * parts - forward * backward) * work +
                   ((p - 1) * (forward * forward + backward * backward) + forward * backward) * largest;
  }

 private:
  /// Least work of all samples and of the largest, wave overheads included; false where one can't fit.
  bool sums(int64_t limit, __int128& work, __int128& largest) const {
    int64_t segments = 0, largest_ring = 1;
    for (int64_t tokens : lengths_) {
      const SampleBound sample = bound_of_sample(cost_, cluster_, tokens, limit);
      if (sample.cp == 0) return false;
      work += sample.work;
      segments += sample.cp;
      largest_ring = std::max(largest_ring, sample.cp);
      largest = std::max(largest, sample.work + static_cast<__int128>(sample.cp) * cost_.wave);
    }
    int64_t waves =
        std::max((total_tokens_ + cluster_.tokens_per_slot - 1) / cluster_.tokens_per_slot, largest_ring);
    if (cluster_.segments_per_slot > 0)
      waves = std::max(waves, (segments + cluster_.segments_per_slot - 1) / cluster_.segments_per_slot);
    work += static_cast<__int128>(waves) * cost_.wave;
    return true;
  }

  const std::vector<int64_t>& lengths_;
  const FixedCost& cost_;
  const Cluster& cluster_;
  const PipelineShape& shape_;
  int64_t total_tokens_ = 0;
};

}  // namespace

int64_t pipeline_bound(const std::vector<int64_t>& lengths, const CostModel& cost_model,
                       const Cluster& cluster, const PipelineShape& shape) {
  check_shape(shape);
  const FixedCost cost(cost_model);
  if (lengths.empty()) return 0;
  const Feasibility feasible(lengths, cost, cluster, shape);
  int64_t infeasible = 0, reachable = 1;
  while (!feasible(reachable)) {
    infeasible = reachable;
    ZT_CHECK(reachable < (int64_t(1) << 61), "pipeline bound: no time is feasible");
    reachable *= 2;
  }
  while (reachable - infeasible > 1) {
    const int64_t middle = infeasible + (reachable - infeasible) / 2;
    (feasible(middle) ? reachable : infeasible) = middle;
  }
  return infeasible + cost.allreduce;
}

}  // namespace zoetrope
