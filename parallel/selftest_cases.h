// What the self-test runs: small samples of awkward lengths, and plans for them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/batch.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Token grid (time, height, width) and caption of a sample.
struct SelftestSample {
  std::array<int64_t, 3> grid{};
  std::string caption;
  int64_t tokens() const { return grid[0] * grid[1] * grid[2]; }
};

/// Samples and a plan for them.
struct SelftestCase {
  std::string name;
  std::vector<SelftestSample> samples;
  Plan plan;
  std::vector<int64_t> lengths() const;
};

/// Every planner on packs under a roomy and a tight cap, on one sample over all ranks and on one that leaves
/// ranks without tokens; then `random_plans` random valid plans.
std::vector<SelftestCase> selftest_cases(int ranks, int64_t random_plans, uint64_t seed);

/// A plan of several waves in which samples lie on random rings with uneven shards.
Plan random_plan(const std::vector<int64_t>& lengths, int ranks, int64_t waves, uint64_t seed);

/// This slot's micro-batch of a wave, with pixels that are a function of (sample, token, channel).
MicroBatch selftest_batch(const SelftestCase& test, const Plan& plan, int64_t wave, int slot,
                          int64_t features);

}  // namespace zoetrope
