// What attention's forward and backward share: checks, sizes of blocks, the cutting into tasks.
// Legend: a block of kQueries queries meets a block of kKeys keys; scores lie with keys as rows and queries
// as columns, so that a query's maximum and sum run down the rows, sixteen queries at a time.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "model/ops/attention_checks.h"
#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/packing.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/ops.h"

namespace zoetrope::cpu {

inline constexpr int64_t kQueries = 64;     // four vectors: the columns of a block of scores
inline constexpr int64_t kChunkBlocks = 8;  // query blocks that share one packing of the keys
inline constexpr int64_t kChunk = kQueries * kChunkBlocks;
inline constexpr int64_t kKeys = 128;  // 128 x 64 f32 scores are 32 KiB: they stay in L1
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr double kLog2e = 1.4426950408889634;

/// Queries [begin, end) of one item in one head.
struct AttentionTask {
  const AttentionItem* item;
  int64_t head, begin, end;
};

using checks::check_attention;
using checks::check_attention_out;
using checks::check_heads;

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

/// What every kernel of attention is given, checked.
struct AttentionCall {
  const Tensor &q, &k, &v;
  std::span<const AttentionItem> items;
  int64_t num_heads, head_width;
  float scale;
  const ThreadPool& pool;
  Arena& workspace;
  const std::function<void()>& progress;
};

/// Tasks of at most `chunk` queries, in the order of items and heads.
std::vector<AttentionTask> cut(const AttentionCall& call, int64_t chunk);

// Note [CP softmax merge]: softmax over keys A and B together follows from the two separate results (o, l),
// l the log of the sum of exponentials: m = max(l_A, l_B), w_i = e^(l_i - m), o = (w_A o_A + w_B o_B) /
// (w_A + w_B), l = m + log(w_A + w_B). No keys at all is (0, -inf), the neutral element: m = -inf must be
// caught, since -inf - -inf is NaN.
void merge_row(float* out, float& lse, const float* added, float added_lse, int64_t width);

/// Writes a query's output and log-sum-exp, or merges them into what is there.
template <class O>
void put_row(O* out, float& lse, const float* row, float row_lse, int64_t width, bool accumulate) {
  if constexpr (std::is_same_v<O, float>)
    if (accumulate) return merge_row(out, lse, row, row_lse, width);
  lse = row_lse;
  simd::for_lanes(width, [&](int64_t c, int64_t n) { simd::store(out + c, simd::load(row + c, n), n); });
}

/// The kernels: by `block_product` in any type on any processor; by AMX tiles on bf16, where `has_tiles()`
/// (tiles.h) says that there are some.
/// Ops::attention.
void attention_by_blocks(const AttentionCall& call, const Tensor& out, const Tensor& lse, bool accumulate);
/// The same by AMX tiles.
void attention_by_tiles(const AttentionCall& call, const Tensor& out, const Tensor& lse, bool accumulate);

/// Ops::attention_backward.
void attention_backward_by_blocks(const AttentionCall& call, const Tensor& dq, const Tensor& dk,
                                  const Tensor& dv, const Tensor& dout, const Tensor& lse,
                                  const Tensor& delta);
/// The same by AMX tiles.
void attention_backward_by_tiles(const AttentionCall& call, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv, const Tensor& dout, const Tensor& lse,
                                 const Tensor& delta);

/// Bytes per thread of the forward and of the backward pass, for the work space's size.
int64_t attention_forward_bytes(int64_t head_width, DType compute);
int64_t attention_backward_bytes(int64_t head_width, DType compute);
int64_t attention_tiles_bytes(int64_t head_width);
int64_t attention_tiles_backward_bytes(int64_t head_width);

}  // namespace zoetrope::cpu
