// Small kernels with one fault each, chosen by a template parameter: a barrier or a wait too few. Each must
// be seen, in the order of seed 0 or of a random seed by a wrong result, or by ThreadSanitizer; without the
// fault nothing may be seen.
#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include <vector>

#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/ptx.cuh"
#include "tests/simt/races.h"

namespace zoetrope::cuda {
namespace {

constexpr int kThreads = 96, kWarps = kThreads / 32;
constexpr unsigned kAllLanes = 0xffffffffu;

enum class Fault {
  kNone,
  kNoBarrierBeforeRead,
  kNoBarrierBeforeReuse,
  kNeighbourWithoutBarrier,
  kNoSyncWarp,
  kWaitOneShort,
  kNoBarrierAfterWait,
  kNoBarrierBeforeRefill,
  kCommitForgotten,
  kArriveTooEarly,
};

/// Puts each fault's shared memory at addresses of its own: ThreadSanitizer reports one race of an address.
template <Fault kFault>
struct alignas(16) Apart {
  char unused[size_t(kFault) * 4096 + 16];
};

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/// y[row] = sum of x minus the sum of its squares: two sums over the block through the same shared memory.
template <Fault kFault>
struct TwoSums {
  struct Shared {
    Apart<kFault> apart;
    float partial[kWarps];
  };
  static float block_sum(float value, Shared& shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_sum(value);
    if (kFault != Fault::kNoBarrierBeforeReuse) __syncthreads();  // all have read the sum before
    if (lane == 0) shared.partial[warp] = value;
    if (kFault != Fault::kNoBarrierBeforeRead) __syncthreads();  // partial[] is complete
    float total = 0;
    for (float part : shared.partial) total += part;
    return total;
  }
  static void kernel(float* y, const float* x) {
    auto& shared = shared_memory<Shared>();
    const float value = x[blockIdx.x * kThreads + threadIdx.x];
    const float sum = block_sum(value, shared), squares = block_sum(value * value, shared);
    y[blockIdx.x * kThreads + threadIdx.x] = sum - squares;
  }
  static float expected(const float* x, int i) {
    float sum = 0, squares = 0;
    for (int j = i / kThreads * kThreads; j < (i / kThreads + 1) * kThreads; ++j)
      sum += x[j], squares += x[j] * x[j];
    return sum - squares;
  }
};

/// y[i] = x[i - 1] in a warp, by way of shared memory.
template <Fault kFault>
struct Neighbour {
  struct Shared {
    Apart<kFault> apart;
    float x[kThreads];
  };
  static void kernel(float* y, const float* x) {
    auto& shared = shared_memory<Shared>();
    const int i = threadIdx.x, before = i % 32 == 0 ? i : i - 1;
    shared.x[i] = x[blockIdx.x * kThreads + i];
    if (kFault == Fault::kNone) __syncthreads();  // all of x is there
    y[blockIdx.x * kThreads + i] = shared.x[before];
  }
  static float expected(const float* x, int i) { return x[i % 32 == 0 ? i : i - 1]; }
};

/// y[i] = x[i ^ 1] by way of shared memory and __syncwarp; shuffles order no memory, so one in its place is a
/// fault.
template <Fault kFault>
struct Exchange {
  struct Shared {
    Apart<kFault> apart;
    float x[kThreads];
  };
  static void kernel(float* y, const float* x) {
    auto& shared = shared_memory<Shared>();
    const int i = threadIdx.x;
    shared.x[i] = x[blockIdx.x * kThreads + i];
    if (kFault == Fault::kNone) __syncwarp();  // x of the warp is there
    else __shfl_sync(kAllLanes, i, 0);
    y[blockIdx.x * kThreads + i] = shared.x[i ^ 1];
  }
  static float expected(const float* x, int i) { return x[i ^ 1]; }
};

/// Warps 0 and 1 fill shared memory that warp 2 reads after a named barrier; then all publish y = 2 x.
template <Fault kFault>
struct Producer {
  struct Shared {
    Apart<kFault> apart;
    float x[kThreads];
  };
  static void kernel(float* y, const float* x) {
    auto& shared = shared_memory<Shared>();
    const int i = threadIdx.x;
    const float value = x[blockIdx.x * kThreads + i];
    if (i < 64) {
      if (kFault == Fault::kArriveTooEarly) barrier_arrive(1, kThreads);
      shared.x[i] = value;
      if (kFault != Fault::kArriveTooEarly) barrier_arrive(1, kThreads);  // x[0, 64) is there
    } else {
      barrier_sync(1, kThreads);
      y[blockIdx.x * kThreads + i - 64] = 2 * shared.x[i - 64];
      y[blockIdx.x * kThreads + i - 32] = 2 * shared.x[i - 32];
      y[blockIdx.x * kThreads + i] = 2 * value;
    }
  }
  static float expected(const float* x, int i) { return 2 * x[i]; }
};

/// y[i] = sum over 8 tiles of x[tile], each read mirrored, so that every thread reads what another copied:
/// two buffers, the next tile's copy under way while one is summed.
template <Fault kFault>
struct Pipeline {
  static constexpr int kTiles = 8, kTile = kThreads * 4;
  struct Shared {
    Apart<kFault> apart;
    alignas(16) float tile[2][kTile];
  };
  static void start_copy(Shared& shared, const float* x, int tile) {
    cp_async_16(shared_address(&shared.tile[tile % 2][threadIdx.x * 4]), x + tile * kTile + threadIdx.x * 4);
  }
  static void kernel(float* y, const float* x) {
    auto& shared = shared_memory<Shared>();
    float sum = 0;
    start_copy(shared, x, 0);
    cp_async_commit();
    for (int tile = 0; tile < kTiles; ++tile) {
      if (tile + 1 < kTiles) start_copy(shared, x, tile + 1);
      if (kFault != Fault::kCommitForgotten) cp_async_commit();
      if (kFault == Fault::kWaitOneShort) cp_async_wait<2>();
      else cp_async_wait<1>();
      if (kFault != Fault::kNoBarrierAfterWait) __syncthreads();  // the copies of all threads have arrived
      for (int part = 0; part < 4; ++part)
        sum += shared.tile[tile % 2][(kThreads - 1 - threadIdx.x) * 4 + part];
      if (kFault != Fault::kNoBarrierBeforeRefill) __syncthreads();  // the buffer has been read
    }
    cp_async_commit();
    cp_async_wait<0>();
    y[blockIdx.x * kThreads + threadIdx.x] = sum;
  }
  static float expected(const float* x, int i) {
    float sum = 0;
    for (int tile = 0; tile < kTiles; ++tile)
      for (int part = 0; part < 4; ++part) sum += x[tile * kTile + (kThreads - 1 - i % kThreads) * 4 + part];
    return sum;
  }
};

/// Whether a run of the kernel gives a wrong y.
template <class Kernel>
bool is_wrong(uint64_t seed) {
  constexpr int kBlocks = 2, kCount = kBlocks * kThreads;
  alignas(16) static float x[8 * kThreads * 4];
  for (int i = 0; i < int(std::size(x)); ++i)
    x[i] = float((i * 37 + i / 96) % 101);  // small integers: sums are exact
  std::vector<float> y(kCount, NAN);
  simt::set_order_seed(seed);
  launch(Kernel::kernel, {kBlocks, kThreads, sizeof(typename Kernel::Shared), "planted"}, nullptr, y.data(),
         x);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "seed " << seed;
  simt::set_order_seed(0);
  for (int i = 0; i < kCount; ++i)
    if (!(y[i] == Kernel::expected(x, i))) return true;
  return false;
}

struct Seen {
  bool in_order = false;
  int random_orders = 0;  // of 8
  bool races = false;
};

template <class Kernel>
Seen look() {
  Seen seen;
  const int races_before = simt::num_races;
  seen.in_order = is_wrong<Kernel>(0);
  for (uint64_t seed = 1; seed <= 8; ++seed) seen.random_orders += is_wrong<Kernel>(seed);
  seen.races = simt::num_races > races_before;
  return seen;
}

template <class Kernel>
void expect_clean() {
  const Seen seen = look<Kernel>();
  EXPECT_FALSE(seen.in_order);
  EXPECT_EQ(seen.random_orders, 0);
  EXPECT_FALSE(seen.races);
}

/// `race`: whether the fault is one of order, which ThreadSanitizer sees.
template <class Kernel>
void expect_seen(bool in_order, bool race = true) {
  const Seen seen = look<Kernel>();
  EXPECT_EQ(seen.in_order, in_order);
  EXPECT_GT(seen.random_orders, 0);
  std::printf("  wrong in order: %d, in random orders: %d of 8\n", seen.in_order, seen.random_orders);
  if (simt::kSeesRaces) { EXPECT_EQ(seen.races, race); }
}

TEST(PlantedFaults, NothingIsSeenWithoutOne) {
  expect_clean<TwoSums<Fault::kNone>>();
  expect_clean<Neighbour<Fault::kNone>>();
  expect_clean<Exchange<Fault::kNone>>();
  expect_clean<Producer<Fault::kNone>>();
  expect_clean<Pipeline<Fault::kNone>>();
}

TEST(PlantedFaults, NoBarrierBeforeSharedMemoryIsRead) {
  expect_seen<TwoSums<Fault::kNoBarrierBeforeRead>>(true);
}
TEST(PlantedFaults, NoBarrierBeforeSharedMemoryIsUsedAgain) {
  expect_seen<TwoSums<Fault::kNoBarrierBeforeReuse>>(true);
}
TEST(PlantedFaults, NeighbourReadWithoutBarrier) {
  expect_seen<Neighbour<Fault::kNeighbourWithoutBarrier>>(false);
}
/// Right in all orders of the emulator, whose lanes all come to a shuffle; only ThreadSanitizer sees it.
TEST(PlantedFaults, ShuffleInPlaceOfSyncWarp) {
  const Seen seen = look<Exchange<Fault::kNoSyncWarp>>();
  EXPECT_EQ(seen.races, simt::kSeesRaces);
}
TEST(PlantedFaults, ArrivalBeforeTheWrite) { expect_seen<Producer<Fault::kArriveTooEarly>>(false); }
TEST(PlantedFaults, WaitOneGroupShort) { expect_seen<Pipeline<Fault::kWaitOneShort>>(true, false); }
TEST(PlantedFaults, CommitForgotten) { expect_seen<Pipeline<Fault::kCommitForgotten>>(true, false); }
TEST(PlantedFaults, NoBarrierAfterTheWait) { expect_seen<Pipeline<Fault::kNoBarrierAfterWait>>(true); }
TEST(PlantedFaults, NoBarrierBeforeTheRefill) { expect_seen<Pipeline<Fault::kNoBarrierBeforeRefill>>(true); }

}  // namespace
}  // namespace zoetrope::cuda
