// Parts of the attention forward kernel for compute capability 9.0: its shared memory, and the warp that
// brings tiles there. attention_hopper_products.cuh has what the warpgroups do with them.
#pragma once

#include "model/ops/cuda/attention_rows.cuh"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/ptx_sm90.cuh"
#include "model/ops/cuda/vector.cuh"

namespace zoetrope::cuda {

/// Sizes of the kernel.
template <int D>
struct HopperShape {
  static constexpr int kGroups = 2, kGroupRows = 64, kRows = kGroups * kGroupRows;  // queries
  static constexpr int kKeys = 128, kStages = 2;
  static constexpr int kThreads = 128 * (1 + kGroups);  // the first warpgroup copies
  static constexpr int kBoxes = D / 64;                 // of 64 columns, 128 bytes: what a swizzled row holds
};

/// A tile is kBoxes blocks of 128-byte rows, swizzled.
template <int D>
struct SharedHopper {
  using S = HopperShape<D>;
  alignas(1024) bf16 queries[S::kRows * D], keys[S::kStages][S::kKeys * D], values[S::kStages][S::kKeys * D];
  uint64_t queries_full, tail_full;  // barriers
  uint64_t keys_full[S::kStages], keys_empty[S::kStages], values_full[S::kStages], values_empty[S::kStages];
};

/// The stage whose turn it is, and the parity of the phases that end in this round.
template <int kStages>
struct Turn {
  int stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

/// One thread makes the barriers.
template <int D>
__device__ void make_barriers(SharedHopper<D>& shared) {
  using S = HopperShape<D>;
  constexpr int kWarps = S::kGroups * 4;  // each gives a stage back by itself
  mbarrier_init(shared_address(&shared.queries_full), 1);
  mbarrier_init(shared_address(&shared.tail_full), 1);
  for (int stage = 0; stage < S::kStages; ++stage) {
    mbarrier_init(shared_address(&shared.keys_full[stage]), 1);
    mbarrier_init(shared_address(&shared.values_full[stage]), 1);
    mbarrier_init(shared_address(&shared.keys_empty[stage]), kWarps);
    mbarrier_init(shared_address(&shared.values_empty[stage]), kWarps);
  }
  fence_mbarrier_init();
}

/// Starts the copy of kTileRows rows of a head to a tile; its bytes count at `full`. One thread calls it.
template <int D, int kTileRows>
__device__ void bring_tile(const bf16* tile, const CUtensorMap& map, int row, int head, uint32_t full) {
  mbarrier_arrive_expect(full, kTileRows * D * int(sizeof(bf16)));
#pragma unroll
  for (int box = 0; box < HopperShape<D>::kBoxes; ++box)
    copy_tile(shared_address(tile + box * kTileRows * 64), &map, row, head * D + box * 64, full);
}

/// Rows from `count` on of a tile of values become zeros: they meet probability 0, and might be infinite. One
/// warp calls it.
template <int D>
__device__ void clear_tail(bf16* tile, int count) {
  using S = HopperShape<D>;
  using Piece = Aligned<uint32_t, 4>;
  constexpr int kRowPieces = 8;
#pragma unroll
  for (int box = 0; box < S::kBoxes; ++box) {
    Piece* pieces = reinterpret_cast<Piece*>(tile + box * S::kKeys * 64);
    for (int i = count * kRowPieces + int(threadIdx.x) % 32; i < S::kKeys * kRowPieces; i += 32)
      pieces[i] = Piece{};
  }
  fence_async_proxy();
}

/// One warp brings queries, then keys and values from the last tile, which alone may be short, to the first,
/// in the order in which they are used.
template <int D>
__device__ void bring_tiles(SharedHopper<D>& shared, const CUtensorMap& q, const CUtensorMap& k,
                            const CUtensorMap& v, const Share& share, int head, int num_tiles) {
  using S = HopperShape<D>;
  const bool leads = threadIdx.x == 0;
  const int tail = share.other_count % S::kKeys;
  const auto first_key = [&](int i) { return share.other_begin + (num_tiles - 1 - i) * S::kKeys; };
  if (leads)
    bring_tile<D, S::kRows>(shared.queries, q, share.begin, head, shared_address(&shared.queries_full));
  Turn<S::kStages> keys, values;
  for (int i = 0; i <= num_tiles; ++i) {
    if (i < num_tiles && leads) {
      mbarrier_wait(shared_address(&shared.keys_empty[keys.stage]), keys.parity ^ 1);
      bring_tile<D, S::kKeys>(shared.keys[keys.stage], k, first_key(i), head,
                              shared_address(&shared.keys_full[keys.stage]));
    }
    keys.advance();
    if (i == 0) continue;
    const bool is_short = i == 1 && tail > 0;
    const uint32_t full = shared_address(&shared.values_full[values.stage]);
    if (leads) {
      mbarrier_wait(shared_address(&shared.values_empty[values.stage]), values.parity ^ 1);
      bring_tile<D, S::kKeys>(shared.values[values.stage], v, first_key(i - 1), head,
                              is_short ? shared_address(&shared.tail_full) : full);
    }
    if (is_short) {
      __syncwarp();  // the leader has started the copy, the others may wait for it
      mbarrier_wait(shared_address(&shared.tail_full), 0);
      clear_tail<D>(shared.values[values.stage], tail);
      __syncwarp();  // all lanes' zeros are there
      if (leads) mbarrier_arrive(full);
    }
    values.advance();
  }
}

}  // namespace zoetrope::cuda
