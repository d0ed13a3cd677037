#include "video/pixels/resample_axis.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace zoetrope::pixels {
namespace {

/// Keys' cubic with a = -1/2.
double cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

/// Weights of one output, from sample `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<int> weights;
};

/// Rounds to integers that sum to one exactly: those with the largest remainders are rounded up.
std::vector<int> to_integers(const std::vector<double>& weights, double sum) {
  std::vector<int> out(weights.size());
  std::vector<std::pair<double, size_t>> remainders(weights.size());
  int left = 1 << kWeightBits;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double exact = weights[k] / sum * (1 << kWeightBits), down = std::floor(exact);
    out[k] = int(down);
    left -= out[k];
    remainders[k] = {down - exact, k};
  }
  std::stable_sort(remainders.begin(), remainders.end());
  for (size_t k = 0; left > 0; k = (k + 1) % remainders.size(), --left) ++out[remainders[k].second];
  return out;
}

Taps taps_at(double place, double stretch, int64_t samples) {
  const int64_t begin = int64_t(std::ceil(place - 2 * stretch)),
                end = int64_t(std::floor(place + 2 * stretch));
  Taps taps;
  taps.first = std::clamp<int64_t>(begin, 0, samples - 1);
  std::vector<double> weights(size_t(std::clamp<int64_t>(end, 0, samples - 1) - taps.first + 1));
  double sum = 0;
  for (int64_t j = begin; j <= end; ++j) {
    const double weight = cubic((double(j) - place) / stretch);
    weights[size_t(std::clamp<int64_t>(j, 0, samples - 1) - taps.first)] += weight;
    sum += weight;
  }
  taps.weights = to_integers(weights, sum);
  while (taps.weights.back() == 0) taps.weights.pop_back();
  size_t zeros = 0;
  while (taps.weights[zeros] == 0) ++zeros;
  taps.weights.erase(taps.weights.begin(), taps.weights.begin() + int64_t(zeros));
  taps.first += int64_t(zeros);
  return taps;
}

}  // namespace

AxisMapping map_axis(const AxisGrid& grid, int64_t scaled, int64_t begin, int64_t count, bool mirrored) {
  const double step = double(grid.picture) / double(scaled) / grid.subsampling;
  const int64_t first = mirrored ? scaled - 1 - begin : begin;
  return {grid.samples, (double(first) + 0.5) * step - 0.5 + grid.siting, mirrored ? -step : step, count};
}

ResampleAxis make_axis(const AxisMapping& mapping) {
  ZT_CHECK(mapping.source >= 1 && mapping.count >= 1, "an axis of ", mapping.source, " samples and ",
           mapping.count, " outputs");
  const double stretch = std::max(1.0, std::abs(mapping.step));
  std::vector<Taps> taps(size_t(mapping.count));
  ResampleAxis axis;
  axis.count = mapping.count;
  axis.first_pair.resize(taps.size());
  for (size_t i = 0; i < taps.size(); ++i) {
    taps[i] = taps_at(mapping.origin + double(i) * mapping.step, stretch, mapping.source);
    const int64_t last = taps[i].first + int64_t(taps[i].weights.size()) - 1;
    axis.first_pair[i] = int32_t(taps[i].first / 2);
    axis.pairs = std::max(axis.pairs, int(last / 2 - taps[i].first / 2 + 1));
  }
  axis.weights.resize(taps.size() * size_t(axis.pairs));
  axis.pair_begin = *std::min_element(axis.first_pair.begin(), axis.first_pair.end());
  axis.pair_end = *std::max_element(axis.first_pair.begin(), axis.first_pair.end()) + axis.pairs;
  for (size_t i = 0; i < taps.size(); ++i)
    for (size_t k = 0; k < taps[i].weights.size(); ++k) {
      const size_t at = size_t(taps[i].first % 2) + k;
      const uint32_t weight = uint32_t(taps[i].weights[k]) & 0xffff;
      int32_t& pair = axis.weights[i * size_t(axis.pairs) + at / 2];
      pair = int32_t(uint32_t(pair) | weight << (16 * (at % 2)));
    }
  return axis;
}

}  // namespace zoetrope::pixels
