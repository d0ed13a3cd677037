// Gradients of attention on tensor cores for bf16 heads of 64 or 128 columns, from the saved log-sum-exp. Two
// kernels of one form, as in attention_plain_backward.cu: a block keeps tiles a, b of its own rows in shared
// memory and walks over tiles x, y of the other side, which arrive two deep:
//   over queries: a = q, b = dout, x = k, y = v:  dq += dS x
//   over keys:    a = k, b = v, x = q, y = dout:  dk += dS x, dv += P y
// Each is the only owner of what it adds to: no atomics, one order of sums. Scores a x^T, P and dS stay in
// registers: their places as sums are those of the next product's left operand.
// Source: arXiv:2307.08691, algorithm 2, with the column and the row pass apart.
//
// Napkin, a head of S_q x S_k scores:      over queries      over keys
//   tensor-core FLOPs                      6 S_q S_k D       8 S_q S_k D    (10 in one pass with atomics)
//   D = 64 / 128: warps a block            4 / 4             4 / 8
//     rows a warp, columns a step          32, 48 / 32, 32   32, 32 / 16, 48
//     sums in registers of a thread        160 / 192         192 / 176
//     shared memory of a block, KiB        56 / 96           49 / 113
//     blocks an SM, sm_80 / sm_90          2, 1 / 2, 2       2, 1 / 2, 1
//     shared memory read, bytes per mma    185 / 213         192 / 299
// Where a block has less shared memory than 113 KiB, 32 columns a step over keys, 96.5 KiB and 320 bytes per
// mma. At 128 bytes a cycle, D = 128 lets sm_90 do 60 % and 43 % of its 2048 multiply-adds: 35 % of the
// matrix rate for the 10 counted, 29 % when four fifths of that are reached. On sm_80's 1024 the tensor cores
// bound, not shared memory: 71 % for the 10 counted of 14 done, expected 40 %.
#include "model/ops/cuda/attention_tensor.cuh"
#include "model/ops/cuda/attention_tiles.h"

namespace zoetrope::cuda {
namespace {

/// Columns of a step where shared memory is no limit: as many as the registers take.
template <int D, TilesOver kOver>
inline constexpr int kMostColumns = (kOver == TilesOver::kKeys) == (D == 64) ? 32 : 48;

template <int D, TilesOver kOver, int kStep>
struct Shape {
  static constexpr bool kOverKeys = kOver == TilesOver::kKeys;
  static constexpr int kWarps = kOverKeys && D == 128 ? 8 : 4, kThreads = kWarps * 32;
  static constexpr int kM = kOverKeys && D == 128 ? 1 : 2, kWarpRows = 16 * kM, kRows = kWarps * kWarpRows;
  static constexpr int kColumns = kStep, kN = kColumns / 8;
  static constexpr int kBlocksPerSm = kWarps == 8 ? 1 : 2;  // at most 255 registers a thread
  static constexpr int kStatistics = kOverKeys ? kColumns : 1;
};

template <int D, TilesOver kOver, int kStep>
struct SharedBackward {
  using S = Shape<D, kOver, kStep>;
  bf16 a[S::kRows * D], b[S::kRows * D];
  bf16 x[2][S::kColumns * D], y[2][S::kColumns * D];
  float lse2[2][S::kStatistics], delta[2][S::kStatistics];  // over keys: of the queries in x and y
};

/// Log-sum-exp in base 2 (+inf beyond `count`), or delta, of a query.
__device__ inline float statistic(const AttentionArgs& args, bool is_delta, int begin, int row, int count,
                                  int head) {
  if (row >= count) return is_delta ? 0.0f : kInfinity;
  if (is_delta) return args.delta[(begin + row) * args.delta_stride + head];
  return lse_base2(args.lse[int64_t(begin + row) * args.num_heads + head]);
}

/// Both statistics of the queries that a lane's sums belong to: of its rows, or of its columns in shared
/// memory.
template <int D, TilesOver kOver, int kStep>
struct Queries {
  using S = Shape<D, kOver, kStep>;
  float lse2[S::kM][2], delta[S::kM][2];  // of rows g + 8 h of each m
  const float *column_lse2, *column_delta;

  __device__ float lse2_of(int m, int n, int e) const {
    return S::kOverKeys ? column_lse2[n * 8 + (int(threadIdx.x) & 3) * 2 + (e & 1)] : lse2[m][e / 2];
  }
  __device__ float delta_of(int m, int n, int e) const {
    return S::kOverKeys ? column_delta[n * 8 + (int(threadIdx.x) & 3) * 2 + (e & 1)] : delta[m][e / 2];
  }
};

/// Scores to P; columns from `count` on become 0.
template <int D, TilesOver kOver, int kStep, int kM, int kN>
__device__ void probabilities(Sums<kM, kN>& p, const Queries<D, kOver, kStep>& queries, int count,
                              float scale2) {
  const int first = (int(threadIdx.x) & 3) * 2;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        p[m][n][e] = exp2_approx(fmaf(p[m][n][e], scale2, -queries.lse2_of(m, n, e)));
        if (kOver == TilesOver::kQueries && n * 8 + first + (e & 1) >= count) p[m][n][e] = 0;
      }
}

/// b y^T to dS without the scale, which the gradients get at the end.
template <int D, TilesOver kOver, int kStep, int kM, int kN>
__device__ void differentiate(Sums<kM, kN>& ds, const Sums<kM, kN>& p,
                              const Queries<D, kOver, kStep>& queries) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) ds[m][n][e] = p[m][n][e] * (ds[m][n][e] - queries.delta_of(m, n, e));
}

/// Adds the warp's gradients to their rows.
template <int D, int kM>
__device__ void add_gradient(const Operand& to, const Share& share, int head, const Sums<kM, D / 8>& sums,
                             float factor) {
  const int lane = int(threadIdx.x) & 31, first_row = int(threadIdx.x) / 32 * 16 * kM + lane / 4;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_row + m * 16 + h * 8;
      if (row >= share.count) continue;
      float* line = head_row<float>(to, share.begin + row, head * D + (lane % 4) * 2);
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        float2* pair = reinterpret_cast<float2*>(line + n * 8);
        float2 sum = *pair;
        sum.x = fmaf(factor, sums[m][n][2 * h], sum.x), sum.y = fmaf(factor, sums[m][n][2 * h + 1], sum.y);
        *pair = sum;
      }
    }
}

/// A side's two operands of one head from row `begin` on.
struct Side {
  const Operand &one, &two;
  const bf16 *one_rows, *two_rows;

  __device__ Side(const Operand& one, const Operand& two, int begin, int column)
      : one(one),
        two(two),
        one_rows(head_row<const bf16>(one, begin, column)),
        two_rows(head_row<const bf16>(two, begin, column)) {}
  /// Starts the copy of both operands' rows from `row` on.
  template <int D, int kTileRows, int kThreads>
  __device__ void load(int row, int count, bf16* to_one, bf16* to_two) const {
    load_tile<D, kTileRows, kThreads, 4>(shared_address(to_one), one_rows + row * one.stride, int(one.stride),
                                         count);
    load_tile<D, kTileRows, kThreads, 4>(shared_address(to_two), two_rows + row * two.stride, int(two.stride),
                                         count);
  }
};

/// All products of a warp's rows with one tile of the other side.
template <int D, TilesOver kOver, int kStep>
__device__ void backward_step(SharedBackward<D, kOver, kStep>& shared, int stage,
                              Queries<D, kOver, kStep>& queries, int count, float scale2,
                              Sums<Shape<D, kOver, kStep>::kM, D / 8>& dx,
                              Sums<Shape<D, kOver, kStep>::kM, D / 8>& dy) {
  using S = Shape<D, kOver, kStep>;
  const uint32_t own = int(threadIdx.x) / 32 * S::kWarpRows * Tile<D>::kRowBytes + Tile<D>::left_lane();
  const uint32_t x = shared_address(shared.x[stage]), y = shared_address(shared.y[stage]);
  queries.column_lse2 = shared.lse2[stage], queries.column_delta = shared.delta[stage];
  Sums<S::kM, S::kN> p, ds;
  Fragments<S::kM, S::kN / 2> left;
  multiply_tiles<D, S::kM, S::kN>(p, opaque(shared_address(shared.a) + own), x + Tile<D>::right_lane());
  probabilities<D, kOver, kStep, S::kM, S::kN>(p, queries, count, scale2);
  if constexpr (S::kOverKeys) {
    to_fragments<S::kM, S::kN>(left, p);
    add_product<D, S::kM, S::kN / 2>(dy, left, y + Tile<D>::left_lane());
  }
  multiply_tiles<D, S::kM, S::kN>(ds, opaque(shared_address(shared.b) + own), y + Tile<D>::right_lane());
  differentiate<D, kOver, kStep, S::kM, S::kN>(ds, p, queries);
  to_fragments<S::kM, S::kN>(left, ds);
  add_product<D, S::kM, S::kN / 2>(dx, left, x + Tile<D>::left_lane());
}

template <int D, TilesOver kOver, int kStep>
__global__ void __launch_bounds__(Shape<D, kOver, kStep>::kThreads, Shape<D, kOver, kStep>::kBlocksPerSm)
    attention_tensor_backward_kernel(const __grid_constant__ AttentionArgs args,
                                     const __grid_constant__ ItemTiles tiles) {
  using S = Shape<D, kOver, kStep>;
  constexpr bool kOverKeys = S::kOverKeys;
  auto& shared = shared_memory<SharedBackward<D, kOver, kStep>>();
  const Share share = share_of(tiles, kOver, int(blockIdx.x), S::kRows);
  const int head = int(blockIdx.y), thread = int(threadIdx.x), warp = thread / 32;
  const Side own(kOverKeys ? args.k : args.q, kOverKeys ? args.v : args.dout, share.begin, head * D);
  const Side other(kOverKeys ? args.q : args.k, kOverKeys ? args.dout : args.v, share.other_begin, head * D);
  // Over keys, threads below 2 kColumns fetch a statistic of a query each.
  const bool fetches = kOverKeys && thread < 2 * S::kColumns, is_delta = thread >= S::kColumns;
  const auto fetch = [&](int row) {
    return statistic(args, is_delta, share.other_begin, row + thread % S::kColumns, share.other_count, head);
  };
  const auto put = [&](int stage, float value) {
    (is_delta ? shared.delta[stage] : shared.lse2[stage])[thread % S::kColumns] = value;
  };

  own.template load<D, S::kRows, S::kThreads>(0, share.count, shared.a, shared.b);
  other.template load<D, S::kColumns, S::kThreads>(0, share.other_count, shared.x[0], shared.y[0]);
  cp_async_commit();
  if (fetches) put(0, fetch(0));
  Queries<D, kOver, kStep> queries{};
  if constexpr (!kOverKeys)
    for (int i = 0; i < 2 * S::kM; ++i) {
      const int row = warp * S::kWarpRows + i * 8 + (thread & 31) / 4;
      queries.lse2[i / 2][i % 2] = statistic(args, false, share.begin, row, share.count, head);
      queries.delta[i / 2][i % 2] = statistic(args, true, share.begin, row, share.count, head);
    }
  Sums<S::kM, D / 8> dx, dy;  // dy stays unused over queries
  clear<S::kM, D / 8>(dx);
  clear<S::kM, D / 8>(dy);
  for (int s = 0, stage = 0; s < share.other_count; s += S::kColumns, stage ^= 1) {
    const int next = s + S::kColumns;
    cp_async_wait<0>();  // this thread's part of the stage
    __syncthreads();     // this stage and its statistics are there; the other stage is read
    if (next < share.other_count)
      other.template load<D, S::kColumns, S::kThreads>(next, share.other_count - next, shared.x[stage ^ 1],
                                                       shared.y[stage ^ 1]);
    cp_async_commit();
    const float fetched = fetches ? fetch(next) : 0.0f;
    backward_step<D, kOver, kStep>(shared, stage, queries, share.other_count - s, args.scale * kLog2e, dx,
                                   dy);
    if (fetches) put(stage ^ 1, fetched);
  }
  cp_async_wait<0>();  // of nothing on the other side, the own tiles are still under way
  add_gradient<D, S::kM>(kOverKeys ? args.dk : args.dq, share, head, dx, args.scale);
  if constexpr (kOverKeys) add_gradient<D, S::kM>(args.dv, share, head, dy, 1);
}

template <int D, TilesOver kOver, int kStep>
void launch_backward(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  using S = Shape<D, kOver, kStep>;
  for_item_tiles(items, kOver, S::kRows, [&](const ItemTiles& tiles, int count) {
    launch(attention_tensor_backward_kernel<D, kOver, kStep>,
           {dim3(unsigned(count), unsigned(args.num_heads)), dim3(S::kThreads),
            sizeof(SharedBackward<D, kOver, kStep>),
            S::kOverKeys ? "attention_tensor_backward_keys" : "attention_tensor_backward_queries"},
           stream, args, tiles);
  });
}

}  // namespace

void attention_tensor_backward(const AttentionArgs& args, std::span<const AttentionItem> items,
                               int64_t shared_bytes, cudaStream_t stream) {
  const auto run = [&]<int D>(std::integral_constant<int, D>) {
    using enum TilesOver;
    launch_backward<D, kQueries, kMostColumns<D, kQueries>>(args, items, stream);
    // Devices of capability 8.6 and 8.9 give a block 99 KiB.
    constexpr int kMost = kMostColumns<D, kKeys>;
    if (int64_t(sizeof(SharedBackward<D, kKeys, kMost>)) <= shared_bytes)
      launch_backward<D, kKeys, kMost>(args, items, stream);
    else launch_backward<D, kKeys, 32>(args, items, stream);
  };
  if (args.head_width == 64) run(std::integral_constant<int, 64>{});
  else run(std::integral_constant<int, 128>{});
}

}  // namespace zoetrope::cuda
