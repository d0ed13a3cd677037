// Random cost sets of very different shape for planner tests.
#pragma once

#include <random>

#include "schedule/cost.h"

namespace zoetrope {

/// Each coefficient is one of a few, far apart.
inline CostModel random_cost(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  CostModel cost;
  cost.linear_ns = pick({0, 1, 1000, 18432});
  cost.quadratic_ns = pick({0.37, 1, 33});
  cost.transfer_ns = pick({0, 10, 1700, 25000});
  cost.latency_ns = pick({0, 500, 20000});
  cost.exchange_ns = pick({0, 4, 3000});
  cost.ranks_per_node = int64_t(pick({1, 2, 3, 8, 64}));
  cost.transfer_between_ns = cost.transfer_ns * pick({0, 1, 6.5});
  cost.latency_between_ns = cost.latency_ns * pick({0, 1, 3});
  cost.short_block_tokens = pick({0, 0, 5, 512});
  cost.num_heads = int64_t(pick({0, 0, 2, 12}));
  cost.all_to_all_ns = pick({0, 7, 900});
  cost.sample_overhead_ns = pick({0, 999, 20000});
  cost.wave_overhead_ns = pick({0, 7777, 200000});
  cost.allreduce_ns = pick({0, 12345});
  cost.optimizer_ns = pick({0, 4321});
  return cost;
}

}  // namespace zoetrope
