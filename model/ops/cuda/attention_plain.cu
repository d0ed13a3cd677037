// Softmax attention forward in f32 for any type and head width up to 256: a block owns up to 64 queries of
// one head and walks over the keys, keeping each query's running maximum, sum and output in registers.
//
// Napkin: 4 S_q S_k D FLOPs a head on the FMA units, 5 of 8 cycles' worth of shared-memory reads; keys and
// values are read once per 64 queries (2 S_k D elements), so 64 FLOPs per byte or more: bound by FMA issue,
// expected 40 to 60 % of the f32 rate. Shared memory at D = 128: (64 + 2 x 16) 132 + 64 x 20 floats = 56 KB.
#include "model/ops/cuda/attention_plain.cuh"
#include "model/ops/cuda/attention_tiles.h"

namespace zoetrope::cuda {
namespace {

template <int D>
struct SharedForward {
  float q[Plain<D>::kResident], k[Plain<D>::kStreamed], v[Plain<D>::kStreamed], weights[Plain<D>::kScores];
};

/// Largest or sum over the 16 threads that share rows: half a warp.
template <class F>
__device__ float reduce_row(float x, F&& f) {
  for (int step = 8; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

/// Running maximum (in raw scores) and sum (this thread's columns only) of the thread's rows.
template <int D>
struct Running {
  float top[Plain<D>::kRowsEach], total[Plain<D>::kRowsEach];
};

/// Scores to probabilities; sums and outputs follow the maximum.
template <int D>
__device__ void soften(Scores<D>& scores, Running<D>& running, Outputs<D>& outputs, int count, float scale2) {
  using P = Plain<D>;
  for (int i = 0; i < P::kRowsEach; ++i) {
    float top = running.top[i];
    for (int j = 0; j < P::kColumnsEach; ++j) {
      if (tile_x() + 16 * j >= count) scores[i][j] = -kInfinity;
      top = fmaxf(top, scores[i][j]);
    }
    top = reduce_row(top, [](float a, float b) { return fmaxf(a, b); });
    const float offset = top == -kInfinity ? 0.0f : top * scale2;
    const float shrink = exp2f(running.top[i] * scale2 - offset);
    running.top[i] = top;
    running.total[i] *= shrink;
    for (int j = 0; j < P::kColumnsEach; ++j) {
      scores[i][j] = exp2f(fmaf(scores[i][j], scale2, -offset));
      running.total[i] += scores[i][j];
    }
    for (float& each : outputs[i]) each *= shrink;
  }
}

/// Divides by the sums and writes or merges the block's rows.
template <int D, class O>
__device__ void finish(const AttentionArgs& args, const Share& share, int head, const Running<D>& running,
                       const Outputs<D>& outputs) {
  constexpr int kRowsEach = Plain<D>::kRowsEach;
  float keep[kRowsEach], take[kRowsEach];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    const int row = tile_y() + 16 * i;
    const float total = reduce_row(running.total[i], [](float a, float b) { return a + b; });
    const float row_lse = total == 0 ? -kInfinity : running.top[i] * args.scale + logf(total);
    float* lse = args.lse + int64_t(share.begin + row) * args.num_heads + head;
    Merge merged{0, 1, row_lse};
    if (args.accumulate && row < share.count) {
      if (row_lse == -kInfinity) merged = {1, 0, *lse};
      else merged = merge(*lse, row_lse);
    }
    keep[i] = merged.keep;
    take[i] = total == 0 ? 0.0f : merged.take / total;
    __syncwarp();  // all lanes of the row have read lse
    if (tile_x() == 0 && row < share.count) *lse = merged.lse;
  }
  const int column = head * args.head_width;
  for_outputs<D>(outputs, share.count, args.head_width, [&](int i, int row, int c, float value) {
    O* out = head_row<O>(args.out, share.begin + row, column + c);
    *out = O(args.accumulate ? keep[i] * float(*out) + take[i] * value : take[i] * value);
  });
}

template <int D, class C, class O>
__global__ void __launch_bounds__(Plain<D>::kThreads, Plain<D>::kBlocksPerSm)
    attention_plain_kernel(const __grid_constant__ AttentionArgs args,
                           const __grid_constant__ ItemTiles tiles) {
  using P = Plain<D>;
  auto& shared = shared_memory<SharedForward<D>>();
  const Share share = share_of(tiles, TilesOver::kQueries, int(blockIdx.x), P::kRows);
  const int head = int(blockIdx.y), width = args.head_width;
  const int column = head * width;

  load_plain<D, P::kRows>(shared.q, head_row<const C>(args.q, share.begin, column), args.q.stride,
                          share.count, width);
  Outputs<D> outputs = {};
  Running<D> running;
  for (int i = 0; i < P::kRowsEach; ++i) running.top[i] = -kInfinity, running.total[i] = 0;
  for (int s = 0; s < share.other_count; s += P::kColumns) {
    const int count = min(P::kColumns, share.other_count - s);
    const int row = share.other_begin + s;
    __syncthreads();  // the last round's keys, values and weights are read
    load_plain<D, P::kColumns>(shared.k, head_row<const C>(args.k, row, column), args.k.stride, count, width);
    load_plain<D, P::kColumns>(shared.v, head_row<const C>(args.v, row, column), args.v.stride, count, width);
    __syncthreads();  // queries, keys and values are complete
    Scores<D> scores;
    score_tile<D>(scores, shared.q, shared.k);
    soften<D>(scores, running, outputs, count, args.scale * kLog2e);
    put_scores<D>(shared.weights, scores);
    __syncwarp();  // the weights of a row come from its half of the warp
    add_weighted<D>(outputs, shared.weights, shared.v);
  }
  finish<D, O>(args, share, head, running, outputs);
}

template <int D, class C, class O>
void launch_forward(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  for_item_tiles(items, TilesOver::kQueries, Plain<D>::kRows, [&](const ItemTiles& tiles, int count) {
    launch(attention_plain_kernel<D, C, O>,
           {dim3(unsigned(count), unsigned(args.num_heads)), dim3(Plain<D>::kThreads),
            sizeof(SharedForward<D>), "attention_plain"},
           stream, args, tiles);
  });
}

}  // namespace

void attention_plain(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  dispatch_width(args.head_width, [&]<int D>(std::integral_constant<int, D>) {
    if (args.q.dtype == DType::kF32) launch_forward<D, float, float>(args, items, stream);
    else if (args.out.dtype == DType::kF32) launch_forward<D, bf16, float>(args, items, stream);
    else launch_forward<D, bf16, bf16>(args, items, stream);
  });
}

}  // namespace zoetrope::cuda
