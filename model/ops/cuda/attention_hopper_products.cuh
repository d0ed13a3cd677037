// Products and softmax of a warpgroup in the attention forward kernel for compute capability 9.0. A lane's
// sums are numbered as wgmma.cuh says: sum i belongs to row g + 8 (i / 2 % 2) of the warp's 16 and to column
// 8 (i / 4) + 2 t + i % 2.
#pragma once

#include "model/ops/cuda/attention_hopper.cuh"
#include "model/ops/cuda/attention_lanes.cuh"
#include "model/ops/cuda/wgmma.cuh"

namespace zoetrope::cuda {

/// Starts scores = the warpgroup's 64 queries times keys^T.
template <int D>
__device__ void start_scores(float (&scores)[HopperShape<D>::kKeys / 2], const bf16* queries,
                             const bf16* keys) {
  using S = HopperShape<D>;
  const uint32_t a = shared_address(queries), b = shared_address(keys);
  wgmma_fence();  // before the scores
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    const uint32_t step = uint32_t(k % 64 * 2);  // of 16 columns inside the box k / 64
    wgmma_m64k16<false>(scores, swizzled_operand(a + uint32_t(k / 64 * S::kRows * 128) + step),
                        swizzled_operand(b + uint32_t(k / 64 * S::kKeys * 128) + step), k > 0);
  }
  wgmma_commit();
}

/// Starts out += probabilities times values.
template <int D>
__device__ void start_outputs(float (&out)[D / 2], const uint32_t (&weights)[HopperShape<D>::kKeys / 16][4],
                              const bf16* values) {
  using S = HopperShape<D>;
  const uint32_t b = shared_address(values);
  wgmma_fence();  // behind outputs and weights
#pragma unroll
  for (int k = 0; k < S::kKeys / 16; ++k)
    wgmma_m64k16<true>(out, weights[k], swizzled_operand(b + uint32_t(k * 16 * 128), S::kKeys * 128), true);
  wgmma_commit();
}

/// The lane's two rows: largest raw score so far, and sum over the lane's columns.
struct HopperRows {
  float top[2] = {-kInfinity, -kInfinity}, total[2] = {0, 0};
};

/// Scores of keys from `count` on become -inf.
template <int kSums>
__device__ void mask_scores(float (&scores)[kSums], int count) {
  const int first = int(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < kSums; ++i)
    if (i / 4 * 8 + first + i % 2 >= count) scores[i] = -kInfinity;
}

/// Scores to probabilities, up to the factor by which `shrink` makes earlier sums and outputs follow the
/// maximum.
template <int kSums>
__device__ void soften_scores(float (&scores)[kSums], HopperRows& rows, float (&shrink)[2], float scale2) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float top = rows.top[h];
#pragma unroll
    for (int n = 0; n < kSums / 4; ++n)
      top = fmaxf(top, fmaxf(scores[4 * n + 2 * h], scores[4 * n + 2 * h + 1]));
    top = row_max(top);
    const float offset = top * scale2;  // finite: each tile has a key
    shrink[h] = exp2_approx(fmaf(rows.top[h], scale2, -offset));
    rows.top[h] = top;
    float total = rows.total[h] * shrink[h];
#pragma unroll
    for (int i = 0; i < kSums / 2; ++i) {
      float& score = scores[i / 2 * 4 + 2 * h + i % 2];
      score = exp2_approx(fmaf(score, scale2, -offset));
      total += score;
    }
    rows.total[h] = total;
  }
  hold(scores);  // here, not behind the next wait
}

/// Probabilities as the left operand of the next product: sums of two 8-column tiles make a step of 16.
template <int kSums>
__device__ void to_weights(uint32_t (&weights)[kSums / 8][4], const float (&scores)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; i += 2) weights[i / 8][i / 2 % 4] = pack_bf16(scores[i], scores[i + 1]);
  hold(weights);
}

/// Outputs follow the maximum.
template <int kSums>
__device__ void scale_outputs(float (&out)[kSums], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) out[i] *= shrink[i / 2 % 2];
  hold(out);
}

}  // namespace zoetrope::cuda
