// What attention's forward and backward share: checks, sizes of blocks, the cutting into tasks.
// Legend: a block of kQueries queries meets a block of kKeys keys; scores lie with keys as rows and queries as
// columns, so that a query's maximum and sum run down the rows, sixteen queries at a time.
#pragma once

#include <span>
#include <vector>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/packing.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/ops.h"

namespace zoetrope::cpu {

inline constexpr int64_t kQueries = 64;       // four vectors: the columns of a block of scores
inline constexpr int64_t kChunkBlocks = 8;    // query blocks that share one packing of the keys
inline constexpr int64_t kChunk = kQueries * kChunkBlocks;
inline constexpr int64_t kKeys = 128;         // 128 x 64 f32 scores are 32 KiB: they stay in L1
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr double kLog2e = 1.4426950408889634;

/// Queries [begin, end) of one item in one head.
struct AttentionTask {
  const AttentionItem* item;
  int64_t head, begin, end;
};

/// Throws: Error unless the columns split into heads.
inline void check_heads(const char* op, int64_t D, int64_t num_heads) {
  ZT_CHECK(num_heads >= 1 && D % num_heads == 0, op, ": ", D, " columns don't split into ", num_heads, " heads");
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

/// Pieces of one thread's work space, handed out in order; with a null base it only measures.
class Space {
 public:
  /// `base` is 64-byte aligned.
  explicit Space(void* base) : base_(reinterpret_cast<uintptr_t>(base)) {}
  /// The next `count` elements, 64-byte aligned.
  template <class E>
  E* take(int64_t count) {
    E* piece = reinterpret_cast<E*>(base_ + uintptr_t(used_));
    used_ += Arena::padded(count * int64_t(sizeof(E)));
    return piece;
  }
  int64_t used() const { return used_; }

 private:
  uintptr_t base_;
  int64_t used_ = 0;
};

/// Bytes per thread of the forward and of the backward pass, for the work space's size.
int64_t attention_forward_bytes(int64_t head_width, DType compute);
int64_t attention_backward_bytes(int64_t head_width, DType compute);

}  // namespace zoetrope::cpu
