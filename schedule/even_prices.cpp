#include "schedule/even_prices.h"

namespace zoetrope {

void EvenPrices::add_item(int64_t tokens) {
  if (tokens_.empty() || tokens_.back() != tokens) {
    tokens_.push_back(tokens);
    by_cp_.emplace_back();
  }
  length_of_.push_back(int32_t(tokens_.size() - 1));
}

const EvenPrices::Price& EvenPrices::of(const FixedCost& cost, int64_t item, int64_t cp) {
  const size_t length = size_t(length_of_[size_t(item)]);
  std::vector<Price>& prices = by_cp_[length];
  if (prices.size() <= size_t(cp)) prices.resize(size_t(cp) + 1);
  Price& price = prices[size_t(cp)];
  if (price.slowest == 0) price = {cost.even_ring(tokens_[length], cp), cost.even_shard(tokens_[length], cp)};
  return price;
}

}  // namespace zoetrope
