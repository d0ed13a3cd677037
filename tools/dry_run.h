// What `zoetrope plan` says of a whole run before it starts: whether every sample fits, what an epoch takes,
// how long ranks are busy and what they hold over the planned steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/plan_report.h"

namespace zoetrope {

/// Samples of a data set or file, with the names that people know them by.
struct SampleNames {
  std::vector<std::string> names;  ///< empty: numbers
  /// The sample's number and name.
  std::string of(int64_t sample) const;
};

/// Plans the longest of all samples alone, as nothing shorter can be harder to place.
/// Throws: Error naming it, its tokens, how many samples don't fit, and what to do.
void check_every_sample(const std::vector<int64_t>& lengths, const SampleNames& names,
                        const PlanProblem& problem, const PlanRequest& request);

/// "dry run: all 48 samples fit ...; an epoch is ... steps, about ... s": at the share of the ideal that the
/// reports of the planned steps reach. Empty without an epoch.
std::string epoch_text(const PlanProblem& problem, const std::vector<const PlanReport*>& reports);
/// Nanoseconds of an epoch at the report's share of the ideal; 0: no epoch.
int64_t epoch_ns(const PlanProblem& problem, const PlanReport& report);

/// Time and memory of each rank over steps of one planner; of the extremes alone where there are many.
std::string ranks_table(const PlanProblem& problem, const std::vector<const PlanReport*>& reports);

}  // namespace zoetrope
