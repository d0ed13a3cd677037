// Gradients of attention in f32 for any type and head width up to 256, from the saved log-sum-exp. Two
// kernels of one form, each the only owner of what it adds to, so that no atomics are needed and sums have
// one order: a block keeps rows a, b and walks over rows x, y of the other side:
//   over queries: a = q, b = dout, x = k, y = v:  dq += dS x
//   over keys:    a = k, b = v, x = q, y = dout:  dk += dS x, dv += P y
// with scores a x^T, P = 2^(scores - lse), dS = P (b y^T - delta) scale.
//
// Napkin: 6 + 8 S_q S_k D FLOPs a head, against 10 in one pass: the scores and b y^T are computed twice.
// Bound by FMA issue like the forward kernel. Shared memory at D = 128: 2 (64 + 16) 132 + 2 x 64 x 20 floats
// = 95 KB.
#include "model/ops/cuda/attention_plain.cuh"
#include "model/ops/cuda/attention_tiles.h"

namespace zoetrope::cuda {
namespace {

template <int D>
struct SharedBackward {
  float a[Plain<D>::kResident], b[Plain<D>::kResident], x[Plain<D>::kStreamed], y[Plain<D>::kStreamed];
  float p[Plain<D>::kScores], ds[Plain<D>::kScores];
};

/// Log-sum-exp in base 2 and delta of one query.
struct QueryStatistics {
  float lse2, delta;
};
__device__ QueryStatistics statistics_of(const AttentionArgs& args, int begin, int row, int count, int head) {
  if (row >= count) return {kInfinity, 0};
  return {lse_base2(args.lse[int64_t(begin + row) * args.num_heads + head]),
          args.delta[(begin + row) * args.delta_stride + head]};
}

/// Scores to P and b y^T to dS, in place. `queries` has an entry for each of the thread's rows or columns.
template <int D, TilesOver kOver>
__device__ void differentiate(Scores<D>& p, Scores<D>& ds, const QueryStatistics* queries, int count,
                              float scale) {
  using P = Plain<D>;
  for (int i = 0; i < P::kRowsEach; ++i)
    for (int j = 0; j < P::kColumnsEach; ++j) {
      const QueryStatistics& query = queries[kOver == TilesOver::kQueries ? i : j];
      p[i][j] = tile_x() + 16 * j < count ? exp2f(fmaf(p[i][j], scale * kLog2e, -query.lse2)) : 0.0f;
      ds[i][j] = p[i][j] * (ds[i][j] - query.delta) * scale;
    }
}

template <int D>
__device__ void add_outputs(const Operand& to, const Share& share, int column, int width,
                            const Outputs<D>& outputs) {
  for_outputs<D>(outputs, share.count, width, [&](int, int row, int c, float value) {
    *head_row<float>(to, share.begin + row, column + c) += value;
  });
}

template <int D, class C, TilesOver kOver>
__global__ void __launch_bounds__(Plain<D>::kThreads, Plain<D>::kBlocksPerSm)
    attention_plain_backward_kernel(const __grid_constant__ AttentionArgs args,
                                    const __grid_constant__ ItemTiles tiles) {
  using P = Plain<D>;
  constexpr bool kOverKeys = kOver == TilesOver::kKeys;
  auto& shared = shared_memory<SharedBackward<D>>();
  const Share share = share_of(tiles, kOver, int(blockIdx.x), P::kRows);
  const int head = int(blockIdx.y), width = args.head_width;
  const int column = head * width;
  const Operand &a = kOverKeys ? args.k : args.q, &b = kOverKeys ? args.v : args.dout;
  const Operand &x = kOverKeys ? args.q : args.k, &y = kOverKeys ? args.dout : args.v;

  load_plain<D, P::kRows>(shared.a, head_row<const C>(a, share.begin, column), a.stride, share.count, width);
  load_plain<D, P::kRows>(shared.b, head_row<const C>(b, share.begin, column), b.stride, share.count, width);
  QueryStatistics queries[kOverKeys ? P::kColumnsEach : P::kRowsEach];
  if constexpr (!kOverKeys)
    for (int i = 0; i < P::kRowsEach; ++i)
      queries[i] = statistics_of(args, share.begin, tile_y() + 16 * i, share.count, head);
  Outputs<D> dx = {}, dy = {};  // dy stays unused over queries
  for (int s = 0; s < share.other_count; s += P::kColumns) {
    const int count = min(P::kColumns, share.other_count - s);
    const int row = share.other_begin + s;
    __syncthreads();  // the last round's x, y, p and ds are read
    load_plain<D, P::kColumns>(shared.x, head_row<const C>(x, row, column), x.stride, count, width);
    load_plain<D, P::kColumns>(shared.y, head_row<const C>(y, row, column), y.stride, count, width);
    if constexpr (kOverKeys)
      for (int j = 0; j < P::kColumnsEach; ++j)
        queries[j] = statistics_of(args, row, tile_x() + 16 * j, count, head);
    __syncthreads();  // a, b, x and y are complete
    Scores<D> p, ds;
    score_tile<D>(p, shared.a, shared.x);
    score_tile<D>(ds, shared.b, shared.y);
    differentiate<D, kOver>(p, ds, queries, count, args.scale);
    put_scores<D>(shared.ds, ds);
    if constexpr (kOverKeys) put_scores<D>(shared.p, p);
    __syncwarp();  // p and ds of a row come from its half of the warp
    add_weighted<D>(dx, shared.ds, shared.x);
    if constexpr (kOverKeys) add_weighted<D>(dy, shared.p, shared.y);
  }
  add_outputs<D>(kOverKeys ? args.dk : args.dq, share, column, width, dx);
  if constexpr (kOverKeys) add_outputs<D>(args.dv, share, column, width, dy);
}

template <int D, class C, TilesOver kOver>
void launch_backward(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  for_item_tiles(items, kOver, Plain<D>::kRows, [&](const ItemTiles& tiles, int count) {
    launch(
        attention_plain_backward_kernel<D, C, kOver>,
        {dim3(unsigned(count), unsigned(args.num_heads)), dim3(Plain<D>::kThreads), sizeof(SharedBackward<D>),
         kOver == TilesOver::kKeys ? "attention_plain_backward_keys" : "attention_plain_backward_queries"},
        stream, args, tiles);
  });
}

}  // namespace

void attention_plain_backward(const AttentionArgs& args, std::span<const AttentionItem> items,
                              cudaStream_t stream) {
  dispatch_width(args.head_width, [&]<int D>(std::integral_constant<int, D>) {
    const auto run = [&]<class C>(C) {
      launch_backward<D, C, TilesOver::kQueries>(args, items, stream);
      launch_backward<D, C, TilesOver::kKeys>(args, items, stream);
    };
    if (args.q.dtype == DType::kF32) run(float{});
    else run(bf16{});
  });
}

}  // namespace zoetrope::cuda
