#include "schedule/ring_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace zoetrope {
namespace {

constexpr int64_t kUnit = 1024;
constexpr int64_t kNoPlace = kUnit + 1;
constexpr int64_t kTolerated = kUnit / 20;  // less waste than a twentieth of the work is no blame
constexpr int64_t kStep = 10;               // a wholly wasteful ring moves up by a tenth of its position
constexpr int64_t kLeastWithout = 4;        // a ring without a place moves as if it were the fifth at least

}  // namespace

RingOrder::RingOrder(int64_t num_samples)
    : items_(size_t(num_samples)), position_(size_t(num_samples)), blame_(size_t(num_samples), 0) {
  std::iota(items_.begin(), items_.end(), int64_t(0));
  for (size_t i = 0; i < position_.size(); ++i) position_[i] = int64_t(i) * kUnit;
}

void RingOrder::move(int64_t from, int64_t to) {
  const auto begin = items_.begin();
  if (from < to) std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else std::rotate(begin + to, begin + from, begin + from + 1);
}

void RingOrder::placed(int64_t item, int64_t waste_ns, int64_t least_ns) {
  const int64_t share =
      least_ns > 0 ? std::min(waste_ns, least_ns) / std::max<int64_t>(1, least_ns / kUnit) : int64_t(0);
  blame_[size_t(item)] = share > kTolerated ? std::min(share, kUnit) : 0;
}

void RingOrder::found_no_place(int64_t item) { blame_[size_t(item)] = kNoPlace; }

void RingOrder::keep() { std::fill(blame_.begin(), blame_.end(), 0); }

void RingOrder::promote() {
  for (size_t i = 0; i < position_.size(); ++i) {
    const int64_t blame = std::min(blame_[i], kUnit), least = blame_[i] == kNoPlace ? kLeastWithout : 1;
    position_[i] -= std::max(least * kUnit, position_[i]) * blame / kUnit / kStep;
  }
  std::stable_sort(items_.begin(), items_.end(),
                   [&](int64_t a, int64_t b) { return position_[size_t(a)] < position_[size_t(b)]; });
  keep();
}

}  // namespace zoetrope
