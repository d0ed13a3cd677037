// The middle of measured values.
#pragma once

#include <algorithm>
#include <vector>

namespace zoetrope {

/// The middle value, or the mean of the two middle ones; `values` must not be empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace zoetrope
