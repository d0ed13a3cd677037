// Which samples a step draws: a seeded permutation per epoch; steps run across epoch ends, nothing is left
// over. The state is one number, the draws so far.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope {

class SampleOrder {
 public:
  SampleOrder(int64_t num_samples, uint64_t seed);
  /// Data-set index of the draw with this running number.
  int64_t sample_at(int64_t draw);
  /// Data-set indices of draws [first, first + count).
  std::vector<int64_t> samples(int64_t first_draw, int64_t count);

 private:
  int64_t num_samples_;
  uint64_t seed_;
  int64_t epoch_ = -1;
  std::vector<int64_t> permutation_;
};

}  // namespace zoetrope
