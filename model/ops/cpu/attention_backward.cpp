// Gradients of attention from the saved log-sum-exp: probabilities are computed again, block by block.
#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/cpu_ops.h"

namespace zoetrope {
namespace {

using namespace cpu;

}  // namespace

void CpuOps::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& lse,
                                const Tensor& delta, std::span<const AttentionItem> items, int64_t num_heads,
                                double scale) const {
  const char* op = "attention_backward";
  const int64_t K = check_attention(op, q, k, v, lse, items, num_heads);
  check_wide(op, "dq", dq, q.rows(), q.row_size());
  check_wide(op, "dk", dk, k.rows(), q.row_size());
  check_wide(op, "dv", dv, k.rows(), q.row_size());
  check_matrix(op, "dout", dout, q.rows(), q.row_size());
  check_same_type(op, "dout", dout, q);
  check_wide(op, "delta", delta, q.rows(), num_heads);
  const auto query_blocks = attention_blocks(items, num_heads, kQueryRows, true);
  const auto key_blocks = attention_blocks(items, num_heads, kQueryRows, false);
  dispatch(q.dtype(), [&]<class C>(C) {
    const auto probability = [&](int64_t t, int64_t s, int64_t head) {
      const float score = float(scale) * dot(q.row<C>(t) + head * K, k.row<C>(s) + head * K, K);
      return std::exp(score - lse.row<float>(t)[head]);
    };
    const auto score_gradient = [&](int64_t t, int64_t s, int64_t head, float p) {
      const float dp = dot(dout.row<C>(t) + head * K, v.row<C>(s) + head * K, K);
      return p * (dp - delta.row<float>(t)[head]) * float(scale);
    };
    pool_.parallel_for_indexed(int64_t(query_blocks.size()), [&](int64_t index, int thread) {
      if (thread == 0 && progress_) progress_();
      const AttentionBlock& b = query_blocks[size_t(index)];
      for (int64_t t = b.begin; t < b.end; ++t)
        for (int64_t s = b.item->kv_begin; s < b.item->kv_end; ++s) {
          const float p = probability(t, s, b.head);
          add_scaled(dq.row<float>(t) + b.head * K, score_gradient(t, s, b.head, p), k.row<C>(s) + b.head * K, K);
        }
    });
    pool_.parallel_for_indexed(int64_t(key_blocks.size()), [&](int64_t index, int thread) {
      if (thread == 0 && progress_) progress_();
      const AttentionBlock& b = key_blocks[size_t(index)];
      for (int64_t t = b.item->q_begin; t < b.item->q_end; ++t)
        for (int64_t s = b.begin; s < b.end; ++s) {
          const float p = probability(t, s, b.head);
          add_scaled(dv.row<float>(s) + b.head * K, p, dout.row<C>(t) + b.head * K, K);
          add_scaled(dk.row<float>(s) + b.head * K, score_gradient(t, s, b.head, p), q.row<C>(t) + b.head * K, K);
        }
    });
  });
}

}  // namespace zoetrope
