// Law 2 for one plan: each sample exactly once, caps hold, no circular wait.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// How far to look for a circular wait: the search is quadratic, and a ring of 200 has 40,000 transfers.
struct CircleSearch {
  int64_t most_slots = 16;  ///< larger pools are not searched
  int num_blocks = 1;       ///< of the model
};

/// Throws, naming what is wrong, unless the plan is valid, within the caps and free of circles.
void check_plan(const Plan& plan, const std::vector<int64_t>& lengths, const Cluster& cluster,
                CircleSearch search);

}  // namespace zoetrope
