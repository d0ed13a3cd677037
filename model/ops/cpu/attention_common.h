// What attention's forward and backward share: checks, the cutting into blocks, short dot products.
#pragma once

#include <span>
#include <vector>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/ops.h"

namespace zoetrope::cpu {

inline constexpr int64_t kQueryRows = 64;

/// Rows [begin, end) of one item's queries (or keys) in one head.
struct AttentionBlock {
  const AttentionItem* item;
  int64_t head, begin, end;
};

/// Throws: Error unless the columns split into heads.
inline void check_heads(const char* op, int64_t D, int64_t num_heads) {
  ZT_CHECK(num_heads >= 1 && D % num_heads == 0, op, ": ", D, " columns don't split into ", num_heads, " heads");
}

/// Checks operands that forward and backward share; returns the head width K.
inline int64_t check_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Tensor& lse, std::span<const AttentionItem> items, int64_t num_heads) {
  const int64_t T = q.rows(), D = q.row_size();
  check_heads(op, D, num_heads);
  check_matrix(op, "q", q, T, D);
  check_matrix(op, "k", k, k.rows(), D);
  check_matrix(op, "v", v, k.rows(), D);
  check_same_type(op, "k", k, q);
  check_same_type(op, "v", v, q);
  check_wide(op, "lse", lse, T, num_heads);
  ZT_CHECK(lse.dense(), op, ": lse must be dense");
  for (const AttentionItem& item : items)
    ZT_CHECK(0 <= item.q_begin && item.q_begin <= item.q_end && item.q_end <= T && 0 <= item.kv_begin &&
                 item.kv_begin <= item.kv_end && item.kv_end <= k.rows(),
             op, ": item q [", item.q_begin, ", ", item.q_end, ") kv [", item.kv_begin, ", ", item.kv_end,
             ") of ", T, " query and ", k.rows(), " key rows");
  return D / num_heads;
}

/// All blocks of at most `rows` query rows (or key rows) of all items and heads.
inline std::vector<AttentionBlock> attention_blocks(std::span<const AttentionItem> items, int64_t num_heads,
                                                    int64_t rows, bool queries) {
  std::vector<AttentionBlock> blocks;
  for (const AttentionItem& item : items) {
    const int64_t first = queries ? item.q_begin : item.kv_begin, last = queries ? item.q_end : item.kv_end;
    for (int64_t head = 0; head < num_heads; ++head)
      for (int64_t begin = first; begin < last; begin += rows)
        blocks.push_back({&item, head, begin, std::min(last, begin + rows)});
  }
  return blocks;
}

/// Inner product of two rows of one head.
template <class A, class B>
float dot(const A* a, const B* b, int64_t width) {
  simd::F16 total{};
  simd::for_lanes(width, [&](int64_t i, int64_t n) { total += simd::load(a + i, n) * simd::load(b + i, n); });
  return simd::sum(total);
}

/// to += factor * from.
template <class A>
void add_scaled(float* to, float factor, const A* from, int64_t width) {
  simd::for_lanes(width, [&](int64_t i, int64_t n) {
    simd::store(to + i, simd::load(to + i, n) + factor * simd::load(from + i, n), n);
  });
}

}  // namespace zoetrope::cpu
