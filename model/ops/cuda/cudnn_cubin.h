// What the compiled kernels of a cuDNN plan are: names, GPU, and whether they add floats in the order in
// which blocks happen to arrive. cuDNN 9.19 doesn't say so of its attention backward (no engine carries
// CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC), so the code itself is asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope::cudnn {

struct PlanKernel {
  std::string name;
  int64_t architecture = 0;  ///< 80, 90, 100: what the code is compiled for
  /// Instructions that add floats to device memory in no fixed order. Additions to shared memory, which
  /// cuDNN's attention doesn't do, are not seen.
  int64_t float_reductions = 0;
};

/// The kernels in a plan's JSON. Throws: Error when it holds none, or code of an unknown form.
std::vector<PlanKernel> kernels_of(const std::string& plan_json);

}  // namespace zoetrope::cudnn
