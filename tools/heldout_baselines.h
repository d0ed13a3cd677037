// Simple predictions of x0 from x_sigma, fitted on training tokens: what a network must beat on held-out
// clips.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "video/store/dataset.h"

namespace zoetrope {

/// Mean and covariance of pixel tokens in [-1, 1].
/// Shapes: mean [P]; covariance [P, P] row-major; both double.
struct TokenStatistics {
  int64_t features = 0, count = 0;
  std::vector<double> mean, covariance;
  double scalar_mean = 0, scalar_variance = 0;  ///< over all elements
};
/// Mean and covariance over every token of a data set.
TokenStatistics token_statistics(const Dataset& dataset);

/// Squared errors of x0 predictions at one sigma, summed over elements.
struct BaselineErrors {
  double mean = 0, affine = 0, patch_linear = 0;
  int64_t count = 0;
};

/// The three fitted predictions at one sigma:
///   mean          x0 = the training set's mean token
///   affine        x0 = a x_sigma + b, the best two numbers
///   patch_linear  x0 = W x_sigma + c, the best matrix (the Wiener filter of a token)
class Baselines {
 public:
  Baselines(const TokenStatistics& statistics, double sigma);
  /// Adds the errors of one token. Shapes: x0, x_sigma [P].
  void add(const float* x0, const float* x_sigma, BaselineErrors& errors) const;

 private:
  const TokenStatistics& statistics_;
  double a_ = 0, b_ = 0;
  std::vector<float> filter_;  ///< W, row-major [P, P]
  std::vector<double> offset_;
};

}  // namespace zoetrope
