#include "parallel/ring_areas.h"

#include "core/arena.h"

namespace zoetrope {

RingAreas::RingAreas(const ModelConfig& config, Precision precision, int64_t tokens, Device device)
    : max_tokens(tokens) {
  const auto area = [&](DType dtype) {
    return KeyValueArea{Tensor::empty({2 * tokens, config.width}, dtype, device)};
  };
  own = area(precision.compute);
  mates = {area(precision.compute), area(precision.compute)};
  gradients = {area(precision.wide), area(precision.wide)};
  returned = area(precision.wide);
}

int64_t RingAreas::bytes(const ModelConfig& config, Precision precision, int64_t tokens) {
  const int64_t elements = 2 * tokens * config.width;
  return 3 * Arena::padded(elements * int64_t(size_of(precision.compute))) +
         3 * Arena::padded(elements * int64_t(size_of(precision.wide)));
}

}  // namespace zoetrope
