// The network against numbers of the official implementation: output, mean squared error and gradients of a
// toy model whose tensors follow a closed formula. Source: notes on Wan in docs, golden numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/ops/ops.h"

namespace zoetrope::test {

ModelConfig golden_config();

/// The toy run on one backend; results as doubles in the order of the original tensors.
struct Golden {
  Golden(const Ops& ops, Precision precision, bool recompute = false);

  std::vector<double> output;
  double loss = 0;
  std::map<std::string, std::vector<double>> grads;
};

/// The listed numbers have ten digits; sums of 288 outputs have nine decimals. Gradients may differ by
/// `gradient_bound` of the tensor's norm, or by `absolute` where that is more.
void expect_golden(const Golden& found, double output_bound, double gradient_bound, double absolute);

}  // namespace zoetrope::test
