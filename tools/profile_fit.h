// Least squares of the cost model's coefficients from measured steps; `zoetrope profile` feeds it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/cost.h"

namespace zoetrope {

/// What a micro-batch's time divides into, in order of `StepSample::ns`.
enum class Pass { kForward, kRecompute, kBackward };
constexpr int kPasses = 3;

/// One measured micro-batch of one rank, waits for other ranks left out.
struct StepSample {
  double tokens = 0;      ///< of this rank
  double pairs = 0;       ///< token pairs that it computed: k S for k tokens of a sample of S
  double segments = 0;    ///< samples, whole or split
  double remote = 0;      ///< tokens of other ranks that it attended to
  double split_rows = 0;  ///< of split samples: own tokens times blocks of the ring, its own included
  double waves = 1;       ///< micro-batches
  std::array<double, kPasses> ns{};  ///< by pass; recompute 0: the model doesn't
  double total_ns() const { return ns[0] + ns[1] + ns[2]; }
};

/// Nanoseconds per unit of what a sample counts.
struct PassFit {
  double linear = 0, quadratic = 0, segment = 0, remote = 0, split_row = 0, wave = 0;
  /// The fitted nanoseconds of a sample.
  double predict(const StepSample& sample) const {
    return linear * sample.tokens + quadratic * sample.pairs + segment * sample.segments +
           remote * sample.remote + split_row * sample.split_rows + wave * sample.waves;
  }
};

/// Coefficients of every pass, none below 0. They make the sum of squared errors least, each over the
/// sample's whole time: between relative errors, which the smallest batch would decide, and absolute ones.
/// The passes together are fitted as their sum would be.
struct StepFit {
  std::array<PassFit, kPasses> passes;
  double largest_error = 0, median_error = 0;  ///< relative, of the samples' whole time
  /// All passes together.
  PassFit sum() const;  ///< all passes together
  double predict(const StepSample& sample) const { return sum().predict(sample); }
  /// Sets what it says of a cost model: its linear, quadratic, short-block, exchange, sample and wave figures
  /// and their parts by pass, and the fit error.
  void apply_to(CostModel& cost) const;
};

/// Throws: Error unless there is at least one sample and every whole time is positive.
StepFit fit_steps(const std::vector<StepSample>& samples);

}  // namespace zoetrope
