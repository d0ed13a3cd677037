// Random planning problems of every kind through every planner, each in time and kept to the laws.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedule/pipeline.h"
#include "schedule/planner.h"

namespace zoetrope {

/// A random problem: pool, caps, lengths, cost set, execution. All of it follows from `seed`.
struct FuzzCase {
  uint64_t seed = 0;
  std::vector<int64_t> lengths;
  CostModel cost;
  Cluster cluster;
  int64_t stages = 1;  ///< more than 1: the slots are pipelines
  bool fits = true;    ///< false: one sample is longer than all slots hold
  /// In one line.
  std::string text() const;
};
/// The case of a seed.
FuzzCase random_case(uint64_t seed);

/// What the planners did on many cases.
struct FuzzStatistics {
  int64_t cases = 0, plans = 0, refused = 0;
  std::map<std::string, int64_t> gave_up;  ///< problems that fit, by planners that can't always plan them
  struct Behind {
    double ratio = 1;
    std::string planner, problem;
  };
  std::map<std::string, int64_t> compared;            ///< by execution
  std::map<std::string, std::vector<Behind>> behind;  ///< cases where the default is slower than another
  double slowest_seconds = 0;                         ///< of one planning
  std::string slowest;
  /// For people, with the worst seeds.
  std::string text() const;
};

/// Plans the case with every planner and checks: covered once, within caps and bytes, no circular wait, the
/// same again, not below the bound; what doesn't fit is refused with its name. Ends the process after
/// `seconds_per_planner` with the case printed, should a planner not come back.
/// Throws: Error naming planner, case and what is wrong.
void check_case(const FuzzCase& problem, double seconds_per_planner, FuzzStatistics& statistics);

}  // namespace zoetrope
