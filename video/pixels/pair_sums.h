// Weighted sums of pairs of samples, compiled for the common numbers of pairs. Used by video/pixels/band
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zoetrope::pixels {

/// Weighted sum of `pairs` pairs, kPairs of them when that is not 0.
template <class Lanes, int kPairs>
inline typename Lanes::Wide sum_of_pairs(const typename Lanes::Pairs* from, ptrdiff_t step,
                                         const int32_t* weights, int pairs, int32_t start) {
  typename Lanes::Wide sum = Lanes::splat(start);
  const int count = kPairs > 0 ? kPairs : pairs;
#pragma GCC unroll 8
  for (int k = 0; k < count; ++k) Lanes::multiply_add(sum, from[k * step], weights[k]);
  return sum;
}

/// Calls run with a compile-time number of pairs where it is small, else with 0.
template <class Lanes, class Run>
inline void with_pairs(int pairs, Run&& run) {
  if constexpr (!Lanes::kUnrolled) return run(std::integral_constant<int, 0>());
  switch (pairs) {
    case 1: return run(std::integral_constant<int, 1>());
    case 2: return run(std::integral_constant<int, 2>());
    case 3: return run(std::integral_constant<int, 3>());
    case 4: return run(std::integral_constant<int, 4>());
    case 5: return run(std::integral_constant<int, 5>());
    case 6: return run(std::integral_constant<int, 6>());
    case 7: return run(std::integral_constant<int, 7>());
    default: return run(std::integral_constant<int, 0>());
  }
}

}  // namespace zoetrope::pixels
