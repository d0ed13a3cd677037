// Rows of scores and outputs as tensor cores leave them: a row lies in four neighbouring lanes, lane t of
// them holding columns 8 n + 2 t and the next. What both tensor-core forward kernels do with such a row.
#pragma once

#include "model/ops/cuda/attention_rows.cuh"
#include "model/ops/cuda/ptx.cuh"

namespace zoetrope::cuda {

/// The largest, and the sum, over the four lanes of a row.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// Two adjacent outputs: written, or merged with those that are there.
template <class O>
__device__ void put_pair(O* to, float first, float second, bool accumulate, float keep) {
  if constexpr (std::is_same_v<O, float>) {
    float2* pair = reinterpret_cast<float2*>(to);
    float2 sum = make_float2(first, second);
    if (accumulate) {
      const float2 old = *pair;
      sum.x = fmaf(keep, old.x, first), sum.y = fmaf(keep, old.y, second);
    }
    *pair = sum;
  } else {
    *reinterpret_cast<uint32_t*>(to) = pack_bf16(first, second);
  }
}

/// Divides row `row` of the share by its sum and writes or merges it. `top` is its largest raw score, `total`
/// the lane's part of the sum, pair(n) the lane's two columns from 8 n on. All lanes of the warp call it.
template <int D, class O, class Pair>
__device__ void finish_row(const AttentionArgs& args, const Share& share, int head, int row, float top,
                           float total, Pair&& pair) {
  const int quarter = int(threadIdx.x) % 4;
  total = row_sum(total);
  const float row_lse = total == 0 ? -kInfinity : top * args.scale + logf(total);
  const bool writes = row < share.count && !(args.accumulate && row_lse == -kInfinity);
  float* lse = args.lse + int64_t(share.begin + row) * args.num_heads + head;
  Merge merged{0, 1, row_lse};
  if (args.accumulate && writes) merged = merge(*lse, row_lse);
  __syncwarp();  // all lanes of the row have read lse
  if (!writes) return;
  if (quarter == 0) *lse = merged.lse;
  const float take = total == 0 ? 0.0f : merged.take / total;
  O* to = head_row<O>(args.out, share.begin + row, head * D + quarter * 2);
#pragma unroll
  for (int n = 0; n < D / 8; ++n) {
    const float2 columns = pair(n);
    put_pair(to + n * 8, columns.x * take, columns.y * take, args.accumulate, merged.keep);
  }
}

}  // namespace zoetrope::cuda
