#include "schedule/even_shards.h"

#include <algorithm>
#include <numeric>

namespace zoetrope {

std::vector<int64_t> by_descending_length(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[size_t(a)] > lengths[size_t(b)]; });
  return order;
}

void put_even(Wave& wave, int64_t first_slot, int64_t cp, int64_t sample, int64_t tokens) {
  int64_t begin = 0;
  for (int64_t member = 0; member < cp; ++member) {
    const int64_t own = even_tokens(tokens, cp, member);
    if (own == 0) break;
    wave.slots[size_t(first_slot + member)].push_back({sample, begin, begin + own});
    begin += own;
  }
}

Wave& open_wave(Plan& plan, int64_t num_slots) {
  return plan.waves.emplace_back(Wave{std::vector<std::vector<Shard>>(size_t(num_slots)), {}});
}

}  // namespace zoetrope
