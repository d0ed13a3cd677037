// The best of all plans of a small batch, by trying them all.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cost.h"

namespace zoetrope {

/// Least makespan of all plans within the caps: every split of every sample, in every wave.
int64_t least_makespan(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster);

}  // namespace zoetrope
