// Softmax attention forward on tensor cores for bf16 heads of 64 or 128 columns (the FlashAttention-2
// scheme): a block of four warps owns 128 queries of one head, 32 a warp, and walks over tiles of keys.
// Scores, probabilities and outputs stay in registers; keys arrive while the last tile's values are
// multiplied, values while scores are computed. Source: arXiv:2307.08691, algorithm 1.
//
// Napkin, a head of S_q x S_k scores:      D = 64            D = 128
//   tensor-core FLOPs                      4 S_q S_k D       the same
//   exponentials                           1 in 256 FLOPs    1 in 512 FLOPs
//   bytes from L2 (K and V)                4 D S_k ceil(S_q / 128): 128 FLOPs a byte
//   bytes of device memory                 4 D (S_q + S_k), once a head
//   shared memory read, bytes per mma      171               160   (an mma is 2048 multiply-adds)
//   shared memory of a block               28 KiB            64 KiB
//   registers a thread, blocks an SM       168, 3            255, 2
// At 128 bytes a cycle an SM could be fed with 1500 to 1640 multiply-adds a cycle: more than the 1024 of
// sm_80, and than the 62 % of sm_90's 2048 that mma.sync reaches at all. What remains is softmax between the
// products, hidden only behind the SM's other warps. Expected of the matrix rate: 60 to 65 % on sm_80, 40 %
// on sm_90.
#include "model/ops/cuda/attention_lanes.cuh"
#include "model/ops/cuda/attention_tensor.cuh"
#include "model/ops/cuda/attention_tiles.h"

namespace zoetrope::cuda {
namespace {

template <int D>
struct Shape {
  static constexpr int kWarps = 4, kThreads = kWarps * 32;
  static constexpr int kM = 2, kWarpRows = 16 * kM, kRows = kWarps * kWarpRows;  // queries
  static constexpr int kKeys = D == 64 ? 48 : 64, kN = kKeys / 8;  // as many as the registers take
  static constexpr int kBlocksPerSm = D == 64 ? 3 : 2;
};
template <int D>
struct SharedForward {
  bf16 queries[Shape<D>::kRows * D], keys[Shape<D>::kKeys * D], values[Shape<D>::kKeys * D];
};

/// Running maximum (raw scores) and sum (this lane's columns only) of the lane's rows g + 8 h of each m.
template <int kM>
struct Running {
  float top[kM][2], total[kM][2];
};

/// Scores of keys from `count` on become -inf.
template <int kM, int kN>
__device__ void mask(Sums<kM, kN>& scores, int count) {
  const int first = (int(threadIdx.x) & 3) * 2;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (n * 8 + first + (e & 1) >= count) scores[m][n][e] = -kInfinity;
}

/// Scores to probabilities; sums and outputs follow the maximum.
template <int kM, int kN, int kOut>
__device__ void soften(Sums<kM, kN>& scores, Running<kM>& running, Sums<kM, kOut>& out, float scale2) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float top = running.top[m][h];
#pragma unroll
      for (int n = 0; n < kN; ++n) top = fmaxf(top, fmaxf(scores[m][n][2 * h], scores[m][n][2 * h + 1]));
      top = row_max(top);
      const float offset = top == -kInfinity ? 0.0f : top * scale2;
      const float shrink = exp2_approx(fmaf(running.top[m][h], scale2, -offset));
      running.top[m][h] = top;
      float total = running.total[m][h] * shrink;
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          scores[m][n][e] = exp2_approx(fmaf(scores[m][n][e], scale2, -offset));
          total += scores[m][n][e];
        }
      running.total[m][h] = total;
#pragma unroll
      for (int n = 0; n < kOut; ++n) out[m][n][2 * h] *= shrink, out[m][n][2 * h + 1] *= shrink;
    }
}

/// Writes or merges the warp's rows.
template <int D, class O>
__device__ void finish(const AttentionArgs& args, const Share& share, int head, const Running<2>& running,
                       const Sums<2, D / 8>& out) {
  const int first_row = int(threadIdx.x) / 32 * 32 + (int(threadIdx.x) & 31) / 4;
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      finish_row<D, O>(args, share, head, first_row + m * 16 + h * 8, running.top[m][h], running.total[m][h],
                       [&](int n) { return make_float2(out[m][n][2 * h], out[m][n][2 * h + 1]); });
}

template <int D, class O>
__global__ void __launch_bounds__(Shape<D>::kThreads, Shape<D>::kBlocksPerSm)
    attention_tensor_kernel(const __grid_constant__ AttentionArgs args,
                            const __grid_constant__ ItemTiles tiles) {
  using S = Shape<D>;
  const auto load_keys = load_tile<D, S::kKeys, S::kThreads, 2>;
  auto& shared = shared_memory<SharedForward<D>>();
  const uint32_t queries = shared_address(shared.queries), keys = shared_address(shared.keys),
                 values = shared_address(shared.values);
  const Share share = share_of(tiles, TilesOver::kQueries, int(blockIdx.x), S::kRows);
  const int head = int(blockIdx.y), warp = int(threadIdx.x) / 32;
  const bf16* q = head_row<const bf16>(args.q, share.begin, head * D);
  const bf16* k = head_row<const bf16>(args.k, share.other_begin, head * D);
  const bf16* v = head_row<const bf16>(args.v, share.other_begin, head * D);

  load_tile<D, S::kRows, S::kThreads>(queries, q, int(args.q.stride), share.count);
  load_keys(keys, k, int(args.k.stride), share.other_count);
  cp_async_commit();
  Sums<S::kM, D / 8> out;
  clear<S::kM, D / 8>(out);
  Running<S::kM> running;
  for (int m = 0; m < S::kM; ++m)
    for (int h = 0; h < 2; ++h) running.top[m][h] = -kInfinity, running.total[m][h] = 0;
  const bool works = warp * S::kWarpRows < share.count;  // warps without queries only load
  const uint32_t left = queries + warp * S::kWarpRows * Tile<D>::kRowBytes + Tile<D>::left_lane();
  for (int s = 0; s < share.other_count; s += S::kKeys) {
    const int rest = share.other_count - s;
    cp_async_wait<0>();  // this thread's part of queries and keys
    __syncthreads();     // queries and keys are there; the last values are read
    load_keys(values, v + int64_t(s) * args.v.stride, int(args.v.stride), rest);
    cp_async_commit();
    Fragments<S::kM, S::kN / 2> weights;
    if (works) {
      Sums<S::kM, S::kN> scores;
      multiply_tiles<D, S::kM, S::kN>(scores, opaque(left), opaque(keys + Tile<D>::right_lane()));
      if (rest < S::kKeys) mask<S::kM, S::kN>(scores, rest);
      soften<S::kM, S::kN, D / 8>(scores, running, out, args.scale * kLog2e);
      to_fragments<S::kM, S::kN>(weights, scores);
    }
    cp_async_wait<0>();  // this thread's part of the values
    __syncthreads();     // values are there; the keys are read
    if (rest > S::kKeys)
      load_keys(keys, k + int64_t(s + S::kKeys) * args.k.stride, int(args.k.stride), rest - S::kKeys);
    cp_async_commit();
    if (works) add_product<D, S::kM, S::kN / 2>(out, weights, opaque(values + Tile<D>::left_lane()));
  }
  cp_async_wait<0>();  // of no keys at all, the queries are still under way
  if (works) finish<D, O>(args, share, head, running, out);
}

template <int D, class O>
void launch_forward(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  for_item_tiles(items, TilesOver::kQueries, Shape<D>::kRows, [&](const ItemTiles& tiles, int count) {
    launch(attention_tensor_kernel<D, O>,
           {dim3(unsigned(count), unsigned(args.num_heads)), dim3(Shape<D>::kThreads),
            sizeof(SharedForward<D>), "attention_tensor"},
           stream, args, tiles);
  });
}

}  // namespace

void attention_tensor(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  const auto run = [&]<class O>(O) {
    if (args.head_width == 64) launch_forward<64, O>(args, items, stream);
    else launch_forward<128, O>(args, items, stream);
  };
  if (args.out.dtype == DType::kF32) run(float{});
  else run(bf16{});
}

}  // namespace zoetrope::cuda
