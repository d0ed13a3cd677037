// Softmax attention forward on the warpgroup products of compute capability 9.0, for bf16 heads of 64 or 128
// columns (the FlashAttention-3 scheme). A block owns 128 queries of one head and walks over tiles of 128
// keys, last to first, so that only the first tile met may be short. One warp brings tiles by the tensor
// memory accelerator, two stages deep; two warpgroups own 64 queries each. A warpgroup's softmax of a tile
// runs beside its own product of the last tile's probabilities with their values, and beside the products of
// the other warpgroup: they take turns at starting products. Compiled for sm_90a alone. Source:
// arXiv:2407.08608, algorithm 2 and section 3.1.
//
// Napkin, a warpgroup's 64 x 128 scores, cycles of an SM:   D = 64     D = 128
//   products, at 4096 FLOPs a cycle                          512        1024
//   exponentials, at 16 a cycle                              528        528
//   max, scale, sum, pack, rescale, at 128 lanes             260        292
//   shared memory, at 128 bytes:
//     operands of scores and of outputs                      192 + 128  384 + 256
//     half of the tile that arrives                          128        256
//   FLOPs per byte from L2                                   128        128
//   shared memory of a block, KiB                            80         160
// Two warpgroups share an SM: at D = 128 each has 2048 cycles for 820 of softmax, and 87 % of the products'
// time goes by in shared memory; L2 gives 4.7 TB/s at 600 TFLOP/s. At D = 64 exponentials take as long as
// products. What is lost besides: first scores and last outputs of a block, waits for turns, the last wave
// (one block an SM). Expected of the measured matrix rate, from 8,192 keys on: 70 % at D = 128, 50 % at D
// = 64.
#include "model/ops/cuda/attention_hopper_products.cuh"

#include <algorithm>

#include "model/ops/cuda/attention_tiles.h"
#include "model/ops/cuda/tensor_map.h"

namespace zoetrope::cuda {
namespace {

/// Warpgroups start products in turn: at barrier 1 + group a group waits for the other to have started its
/// own.
__device__ inline void wait_for_turn(int group) { barrier_sync(1 + group, 256); }
__device__ inline void give_turn(int group) { barrier_arrive(2 - group, 256); }

/// The warp no longer reads a stage.
__device__ inline void give_back(const uint64_t& empty) {
  if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&empty));
}

/// A warpgroup's outputs of its 64 queries over at least one tile, not yet divided by the rows' sums.
template <int D>
__device__ void attend(SharedHopper<D>& shared, int group, int num_tiles, int short_count, float scale2,
                       HopperRows& rows, float (&out)[D / 2]) {
  using S = HopperShape<D>;
  const bf16* queries = shared.queries + group * S::kGroupRows * 64;
  float scores[S::kKeys / 2], shrink[2];
  uint32_t weights[S::kKeys / 16][4];
  Turn<S::kStages> keys, values;
  const auto wait_for_keys = [&] {
    mbarrier_wait(shared_address(&shared.keys_full[keys.stage]), keys.parity);
  };
  mbarrier_wait(shared_address(&shared.queries_full), 0);
  wait_for_keys();
  wait_for_turn(group);
  start_scores<D>(scores, queries, shared.keys[0]);
  if (group == 0 || num_tiles > 1) give_turn(group);
  wgmma_wait<0>();
  hold(scores);
  give_back(shared.keys_empty[0]);
  keys.advance();
  if (short_count > 0) mask_scores(scores, short_count);
  soften_scores(scores, rows, shrink, scale2);
  if (num_tiles > 1) wait_for_keys();
  to_weights(weights, scores);
  for (int i = 1; i < num_tiles; ++i) {
    wait_for_turn(group);
    start_scores<D>(scores, queries, shared.keys[keys.stage]);
    mbarrier_wait(shared_address(&shared.values_full[values.stage]), values.parity);
    start_outputs<D>(out, weights, shared.values[values.stage]);
    if (group == 0 || i + 1 < num_tiles) give_turn(group);
    wgmma_wait<1>();  // for the scores
    hold(scores);
    give_back(shared.keys_empty[keys.stage]);
    keys.advance();
    soften_scores(scores, rows, shrink, scale2);
    // NOTE: not later. ptxas, which would put the next wait before all of the softmax, leaves it behind this
    // loop.
    if (i + 1 < num_tiles) wait_for_keys();
    wgmma_wait<0>();  // for the outputs
    hold(out), hold(weights);
    give_back(shared.values_empty[values.stage]);
    values.advance();
    scale_outputs(out, shrink);
    to_weights(weights, scores);
  }
  mbarrier_wait(shared_address(&shared.values_full[values.stage]), values.parity);
  start_outputs<D>(out, weights, shared.values[values.stage]);
  wgmma_wait<0>();
  hold(out);
}

template <int D, class O>
__global__ void __launch_bounds__(HopperShape<D>::kThreads, 1)
    attention_hopper_kernel(const __grid_constant__ AttentionArgs args,
                            const __grid_constant__ ItemTiles tiles, const __grid_constant__ CUtensorMap q,
                            const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v) {
  using S = HopperShape<D>;
  auto& shared = shared_memory<SharedHopper<D>>();
  const Share share = share_of(tiles, TilesOver::kQueries, int(blockIdx.x), S::kRows);
  const int head = int(blockIdx.y), num_tiles = (share.other_count + S::kKeys - 1) / S::kKeys;
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();  // the barriers are made
  // 65536 registers, 168 a thread at the start: 24 x 128 + 240 x 256 = 64512 of 168 x 384.
  if (threadIdx.x < 128) {
    lower_registers<24>();
    if (threadIdx.x < 32 && num_tiles > 0) bring_tiles<D>(shared, q, k, v, share, head, num_tiles);
    return;
  }
  raise_registers<240>();
  const int group = int(threadIdx.x) / 128 - 1, warp = int(threadIdx.x) / 32 % 4;
  HopperRows rows;
  float out[D / 2];
#pragma unroll
  for (int i = 0; i < D / 2; ++i) out[i] = 0;
  if (num_tiles > 0) {
    if (group == 1) give_turn(1);  // the first warpgroup begins
    attend<D>(shared, group, num_tiles, share.other_count % S::kKeys, args.scale * kLog2e, rows, out);
  }
  const int row = group * S::kGroupRows + warp * 16 + int(threadIdx.x) % 32 / 4;
#pragma unroll
  for (int h = 0; h < 2; ++h)
    finish_row<D, O>(args, share, head, row + 8 * h, rows.top[h], rows.total[h],
                     [&](int n) { return make_float2(out[4 * n + 2 * h], out[4 * n + 2 * h + 1]); });
}

/// A map of the rows [0, `rows`) of an operand.
CUtensorMap boxes_of(const Operand& x, int64_t rows, const AttentionArgs& args, int box_rows) {
  return swizzled_boxes(static_cast<const bf16*>(x.data), rows, int64_t(args.num_heads) * args.head_width,
                        x.stride, box_rows);
}

template <int D, class O>
void launch_hopper(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  using S = HopperShape<D>;
  int64_t num_queries = 0, num_keys = 0;
  for (const AttentionItem& item : items) {
    num_queries = std::max(num_queries, item.q_end);
    num_keys = std::max(num_keys, item.kv_end);
  }
  if (num_queries == 0) return;
  const CUtensorMap q = boxes_of(args.q, num_queries, args, S::kRows);
  const bool has_keys = num_keys > 0;  // otherwise no block copies
  const CUtensorMap k = has_keys ? boxes_of(args.k, num_keys, args, S::kKeys) : q;
  const CUtensorMap v = has_keys ? boxes_of(args.v, num_keys, args, S::kKeys) : q;
  for_item_tiles(items, TilesOver::kQueries, S::kRows, [&](const ItemTiles& tiles, int count) {
    launch(attention_hopper_kernel<D, O>,
           {dim3(unsigned(count), unsigned(args.num_heads)), dim3(S::kThreads), sizeof(SharedHopper<D>),
            "attention_hopper"},
           stream, args, tiles, q, k, v);
  });
}

}  // namespace

void attention_hopper(const AttentionArgs& args, std::span<const AttentionItem> items, cudaStream_t stream) {
  const auto run = [&]<class O>(O) {
    if (args.head_width == 64) launch_hopper<64, O>(args, items, stream);
    else launch_hopper<128, O>(args, items, stream);
  };
  if (args.out.dtype == DType::kF32) run(float{});
  else run(bf16{});
}

}  // namespace zoetrope::cuda
