// Checks of attention's operands that all backends share.
#pragma once

#include <limits>
#include <span>

#include "model/ops/checks.h"
#include "model/ops/types.h"

namespace zoetrope::checks {

/// Throws: Error unless the columns split into heads.
inline void check_heads(const char* op, int64_t D, int64_t num_heads) {
  ZT_CHECK(num_heads >= 1 && D % num_heads == 0, op, ": ", D, " columns don't split into ", num_heads,
           " heads");
}

/// Checks operands that forward and backward share; returns the head width K.
inline int64_t check_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Tensor& lse, std::span<const AttentionItem> items, int64_t num_heads,
                               double scale) {
  const int64_t T = q.rows(), D = q.row_size();
  check_heads(op, D, num_heads);
  check_matrix(op, "q", q, T, D);
  check_matrix(op, "k", k, k.rows(), D);
  check_matrix(op, "v", v, k.rows(), D);
  check_same_type(op, "k", k, q);
  check_same_type(op, "v", v, q);
  check_wide(op, "lse", lse, T, num_heads);
  ZT_CHECK(lse.dense(), op, ": lse must be dense");
  ZT_CHECK(scale > 0, op, ": scale is ", scale, ", expected a positive number");
  for (const AttentionItem& item : items)
    ZT_CHECK(0 <= item.q_begin && item.q_begin <= item.q_end && item.q_end <= T && 0 <= item.kv_begin &&
                 item.kv_begin <= item.kv_end && item.kv_end <= k.rows(),
             op, ": item q [", item.q_begin, ", ", item.q_end, ") kv [", item.kv_begin, ", ", item.kv_end,
             ") of ", T, " query and ", k.rows(), " key rows");
  return D / num_heads;
}

/// Throws: Error unless `out` is of the compute type or wide, and wide where results are merged into it.
inline void check_attention_out(const char* op, const Tensor& out, const Tensor& q, bool accumulate) {
  ZT_CHECK(out.dtype() == DType::kF32 || (out.dtype() == q.dtype() && !accumulate), op, ": out is ",
           out.shape_text(), accumulate ? ", merging needs f32" : ", expected f32 or q's type");
}

}  // namespace zoetrope::checks
