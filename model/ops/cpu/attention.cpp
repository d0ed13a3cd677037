// Softmax attention without a stored score matrix.
#include <limits>

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/cpu_ops.h"

namespace zoetrope {
namespace {

using namespace cpu;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Note [CP softmax merge]: softmax over keys A and B together follows from the two separate results (o, l),
// l the log of the sum of exponentials: m = max(l_A, l_B), w_i = e^(l_i - m), o = (w_A o_A + w_B o_B) /
// (w_A + w_B), l = m + log(w_A + w_B). No keys at all is (0, -inf), the neutral element: m = -inf must be
// caught, since -inf - -inf is NaN.
void merge_row(float* out, float& lse, const float* added, float added_lse, int64_t width) {
  const float top = std::max(lse, added_lse);
  if (top == kMinusInfinity) return;
  const float old_weight = std::exp(lse - top), new_weight = std::exp(added_lse - top);
  const float total = old_weight + new_weight;
  const float keep = old_weight / total, take = new_weight / total;
  for (int64_t c = 0; c < width; ++c) out[c] = keep * out[c] + take * added[c];
  lse = top + std::log(total);
}

}  // namespace

void CpuOps::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                       std::span<const AttentionItem> items, int64_t num_heads, double scale,
                       bool accumulate) const {
  const char* op = "attention";
  const int64_t K = check_attention(op, q, k, v, lse, items, num_heads);
  check_matrix(op, "out", out, q.rows(), q.row_size());
  ZT_CHECK(!accumulate || out.dtype() == DType::kF32, op, ": merging needs an f32 out, got ", out.shape_text());
  const ArenaScope scope(workspace_);
  const Tensor space = workspace_.take({pool_.num_threads(), K}, DType::kF32);
  const auto blocks = attention_blocks(items, num_heads, kQueryRows, true);
  dispatch(q.dtype(), [&]<class C>(C) {
    dispatch(out.dtype(), [&]<class O>(O) {
      pool_.parallel_for_indexed(int64_t(blocks.size()), [&](int64_t index, int thread) {
        if (thread == 0 && progress_) progress_();
        const AttentionBlock& b = blocks[size_t(index)];
        float* sum = space.row<float>(thread);
        for (int64_t t = b.begin; t < b.end; ++t) {
          float top = kMinusInfinity, total = 0;
          std::fill_n(sum, K, 0.0f);
          for (int64_t s = b.item->kv_begin; s < b.item->kv_end; ++s) {
            const float score = float(scale) * dot(q.row<C>(t) + b.head * K, k.row<C>(s) + b.head * K, K);
            if (score > top) {
              const float shrink = std::exp(top - score);
              total *= shrink;
              for (int64_t c = 0; c < K; ++c) sum[c] *= shrink;
              top = score;
            }
            const float p = std::exp(score - top);
            total += p;
            add_scaled(sum, p, v.row<C>(s) + b.head * K, K);
          }
          if (total > 0 || total != total)
            for (int64_t c = 0; c < K; ++c) sum[c] /= total;
          const float row_lse = b.item->kv_begin == b.item->kv_end ? kMinusInfinity : top + std::log(total);
          float& saved = lse.row<float>(t)[b.head];
          O* to = out.row<O>(t) + b.head * K;
          if constexpr (std::is_same_v<O, float>) {
            if (accumulate) {
              merge_row(to, saved, sum, row_lse, K);
              continue;
            }
          }
          saved = row_lse;
          simd::for_lanes(K, [&](int64_t i, int64_t n) { simd::store(to + i, simd::load(sum + i, n), n); });
        }
      });
    });
  });
}

void CpuOps::attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                             int64_t num_heads) const {
  const char* op = "attention_delta";
  const int64_t T = out.rows(), D = out.row_size();
  check_matrix(op, "out", out, T, D);
  check_matrix(op, "dout", dout, T, D);
  check_heads(op, D, num_heads);
  check_wide(op, "delta", delta, T, num_heads);
  const int64_t K = D / num_heads;
  dispatch(out.dtype(), [&]<class O>(O) {
    dispatch(dout.dtype(), [&]<class G>(G) {
      for_rows(pool_, T, [&](int64_t t) {
        for (int64_t h = 0; h < num_heads; ++h)
          delta.row<float>(t)[h] = dot(dout.row<G>(t) + h * K, out.row<O>(t) + h * K, K);
      });
    });
  });
}

}  // namespace zoetrope
