#include "schedule/order.h"

#include <numeric>

#include "core/check.h"
#include "core/rng.h"

namespace zoetrope {
namespace {

/// Fisher-Yates with counter-based numbers: the permutation of an epoch depends on (seed, epoch) alone.
std::vector<int64_t> permutation_of_epoch(int64_t num_samples, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(size_t(num_samples), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  for (int64_t i = num_samples - 1; i > 0; --i) {
    const auto words = RandomKey{seed, Purpose::kOrder, epoch, i}.words(0);
    const uint64_t random = uint64_t(words[0]) << 32 | words[1];
    const auto scaled = static_cast<unsigned __int128>(random) * uint64_t(i + 1);
    std::swap(order[size_t(i)], order[size_t(scaled >> 64)]);
  }
  return order;
}

}  // namespace

SampleOrder::SampleOrder(int64_t num_samples, uint64_t seed) : num_samples_(num_samples), seed_(seed) {
  ZT_REQUIRE(num_samples > 0, "the data set has no samples: ingest some clips first");
}

int64_t SampleOrder::sample_at(int64_t draw) {
  ZT_CHECK(draw >= 0, "draw ", draw, " is negative");
  const int64_t epoch = draw / num_samples_;
  if (epoch != epoch_) {
    permutation_ = permutation_of_epoch(num_samples_, seed_, epoch);
    epoch_ = epoch;
  }
  return permutation_[size_t(draw % num_samples_)];
}

std::vector<int64_t> SampleOrder::samples(int64_t first_draw, int64_t count) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(sample_at(first_draw + i));
  return result;
}

}  // namespace zoetrope
