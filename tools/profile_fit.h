// Least squares of the cost model's coefficients from measured steps; `zoetrope profile` feeds it.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope {

/// One measured micro-batch of one rank, waits for other ranks left out.
struct StepSample {
  double tokens = 0;    ///< of this rank
  double pairs = 0;     ///< token pairs that it computed: k S for k tokens of a sample of S
  double segments = 0;  ///< samples, whole or split
  double remote = 0;    ///< tokens of other ranks that it attended to
  double waves = 1;     ///< micro-batches
  double ns = 0;        ///< forward and backward
};

/// Coefficients, none below 0, that make the sum of squared relative errors least.
struct StepFit {
  double linear_ns = 0, quadratic_ns = 0, segment_ns = 0, remote_ns = 0, wave_ns = 0;
  double largest_error = 0;  ///< relative, over the samples
  /// The fitted time of a step in ns.
  double predict(const StepSample& sample) const {
    return linear_ns * sample.tokens + quadratic_ns * sample.pairs + segment_ns * sample.segments +
           remote_ns * sample.remote + wave_ns * sample.waves;
  }
};

/// Throws: Error unless there is at least one sample and every time is positive.
StepFit fit_steps(const std::vector<StepSample>& samples);

}  // namespace zoetrope
