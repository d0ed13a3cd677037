// The small network that the self-test trains, on one rank in several orders of summation and on N ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/context_attention.h"
#include "parallel/grad_sync.h"
#include "parallel/selftest.h"
#include "parallel/selftest_cases.h"
#include "parallel/step.h"

namespace zoetrope {

/// How a one-rank run sums; they differ in rounding alone.
enum class Summation { kPlain, kHalvedKeys, kReversedKeys, kReversedPack };

/// Loss and flat gradients (widened to double) of a step.
struct StepOutcome {
  double loss = 0;
  std::vector<double> gradients;
};

/// Network, parameters and work space of one rank; one thread, so that rank counts alone differ.
class SelftestModel {
 public:
  SelftestModel(const SelftestOptions& options, Comm& comm, int64_t max_tokens, int64_t max_segments);
  ~SelftestModel();

  /// All samples on this rank alone.
  StepOutcome run_alone(const SelftestCase& test, Summation summation);
  /// The case's plan on all ranks, with the fault of the options planted.
  StepOutcome run_plan(const SelftestCase& test);
  const Parameters& parameters() const;
  const GradientSync& sync() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
