// Host side of attention: items cut into tiles for launches, and the compiled head width that serves a given
// one.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "model/ops/cuda/attention.h"

namespace zoetrope::cuda {

/// Cuts items into tiles of `tile_rows` and calls launch(tiles, number of tiles) for every kMost items that
/// have any tile; items with much work first, so that the last blocks of a launch are short ones.
template <class Launch>
void for_item_tiles(std::span<const AttentionItem> items, TilesOver over, int64_t tile_rows,
                    Launch&& launch) {
  std::vector<AttentionItem> sorted(items.begin(), items.end());
  const auto other = [&](const AttentionItem& i) {
    return over == TilesOver::kQueries ? i.kv_end - i.kv_begin : i.q_end - i.q_begin;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const AttentionItem& a, const AttentionItem& b) { return other(a) > other(b); });
  ItemTiles tiles{};
  int64_t total = 0;
  const auto flush = [&] {
    if (total > 0) launch(tiles, int(total));
    tiles.count = 0;
    total = 0;
  };
  for (const AttentionItem& item : sorted) {
    const int64_t q_count = item.q_end - item.q_begin, kv_count = item.kv_end - item.kv_begin;
    const int64_t rows = over == TilesOver::kQueries ? q_count : kv_count;
    if (rows == 0) continue;
    if (tiles.count == ItemTiles::kMost) flush();
    tiles.items[tiles.count] = {int32_t(item.q_begin), int32_t(q_count), int32_t(item.kv_begin),
                                int32_t(kv_count)};
    tiles.first_tile[tiles.count] = int32_t(total);
    total += (rows + tile_rows - 1) / tile_rows;
    tiles.first_tile[++tiles.count] = int32_t(total);
  }
  flush();
}

/// Calls f(std::integral_constant<int, D>) with the compiled width D that serves heads of `width`.
template <class F>
void dispatch_width(int width, F&& f) {
  if (width <= 32) return f(std::integral_constant<int, 32>{});
  if (width <= 64) return f(std::integral_constant<int, 64>{});
  if (width <= 128) return f(std::integral_constant<int, 128>{});
  ZT_CHECK(width <= 256, "attention on cuda: heads of ", width, " columns, at most 256");
  f(std::integral_constant<int, 256>{});
}

}  // namespace zoetrope::cuda
