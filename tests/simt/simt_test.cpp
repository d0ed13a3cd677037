// Kernels run thread for thread: positions, barriers, warp operations, shared memory, orders.
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

#include "model/ops/cuda/launch.h"

namespace zoetrope::cuda {
namespace {

constexpr int kThreads = 128;
struct Shared {
  float partial[kThreads / 32];
};

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Each block sums its row: warps by shuffles, then over shared memory.
__global__ void __launch_bounds__(kThreads) row_sum_kernel(float* sums, const float* x, int64_t columns) {
  auto& shared = shared_memory<Shared>();
  float sum = 0;
  for (int64_t column = threadIdx.x; column < columns; column += kThreads)
    sum += x[blockIdx.x * columns + column];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) shared.partial[threadIdx.x / 32] = sum;
  __syncthreads();  // partial[] is complete; nobody writes it again
  sum = warp_sum(threadIdx.x % 32 < kThreads / 32 ? shared.partial[threadIdx.x % 32] : 0.0f);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

TEST(Simt, RowSumsAreRightInEveryOrder) {
  constexpr int64_t kRows = 5, kColumns = 300;
  std::vector<float> x(kRows * kColumns);
  std::iota(x.begin(), x.end(), 0.0f);  // all sums are integers below 2^24: exact in any order
  for (uint64_t seed : {0, 1, 2, 3}) {
    simt::set_order_seed(seed);
    std::vector<float> sums(kRows, -1.0f);
    launch(row_sum_kernel, {kRows, kThreads, sizeof(Shared), "row_sum_kernel"}, nullptr, sums.data(),
           x.data(), kColumns);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "seed " << seed;
    for (int64_t row = 0; row < kRows; ++row)
      EXPECT_EQ(sums[row], std::accumulate(&x[row * kColumns], &x[row * kColumns] + kColumns, 0.0f))
          << "seed " << seed;
  }
  simt::set_order_seed(0);
}

TEST(Simt, EveryThreadOfEveryBlockRunsOnceAtItsPlace) {
  const dim3 grid(3, 2, 2), block(5, 3, 4);
  for (uint64_t seed : {0, 9}) {
    std::vector<int> visits(3 * 2 * 2 * 5 * 3 * 4, 0);
    const auto body = [&] {
      EXPECT_EQ(gridDim.y, 2u);
      EXPECT_EQ(blockDim.z, 4u);
      const unsigned in_block = threadIdx.x + 5 * (threadIdx.y + 3 * threadIdx.z);
      const unsigned of_grid = blockIdx.x + 3 * (blockIdx.y + 2 * blockIdx.z);
      ++visits[of_grid * 60 + in_block];
      __syncthreads();
      EXPECT_EQ(threadIdx.x + 5 * (threadIdx.y + 3 * threadIdx.z), in_block);  // also after others ran
    };
    simt::run({grid, block, 0, "visit"}, body, seed);
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(Simt, OrdersFollowTheSeed) {
  const auto order = [](uint64_t seed) {
    std::vector<int> seen(256);
    int count = 0;
    const auto body = [&] { seen[atomicAdd(&count, 1)] = int(blockIdx.x * 64 + threadIdx.x); };
    simt::run({4, 64, 0, "order"}, body, seed);
    return seen;
  };
  std::vector<int> in_order(256);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(order(0), in_order);
  EXPECT_NE(order(1), in_order);
  EXPECT_NE(order(1), order(2));
  EXPECT_EQ(order(1), order(1));
}

TEST(Simt, WarpOperationsAsCudaDefinesThem) {
  const auto body = [] {
    const int lane = int(threadIdx.x) % 32;
    const unsigned all = 0xffffffffu;
    EXPECT_EQ(__shfl_sync(all, lane * 2.5, 7), 17.5);
    EXPECT_EQ(__shfl_sync(all, lane, lane + 33), (lane + 1) % 32);
    EXPECT_EQ(__shfl_sync(all, lane, 2, 8), lane / 8 * 8 + 2);
    EXPECT_EQ(__shfl_up_sync(all, lane, 3), lane < 3 ? lane : lane - 3);
    EXPECT_EQ(__shfl_down_sync(all, lane, 3, 16), lane % 16 > 12 ? lane : lane + 3);
    EXPECT_EQ(__shfl_xor_sync(all, lane, 5), lane ^ 5);
    EXPECT_EQ(__ballot_sync(all, lane % 4 == 1), 0x22222222u);
    EXPECT_EQ(__any_sync(all, lane == 31), 1);
    EXPECT_EQ(__all_sync(all, lane < 31), 0);
    EXPECT_EQ(__match_any_sync(all, lane / 16), lane < 16 ? 0xffffu : 0xffff0000u);
    EXPECT_EQ(__reduce_add_sync(all, lane), 496);
    EXPECT_EQ(__reduce_min_sync(all, lane - 5), -5);
    EXPECT_EQ(__reduce_max_sync(all, unsigned(lane)), 31u);
    // Half warps apart, each at a line of its own.
    if (lane < 16) EXPECT_EQ(__shfl_xor_sync(0x0000ffffu, lane, 8), lane ^ 8);
    else EXPECT_EQ(__shfl_sync(0xffff0000u, lane, 16), 16);
    __syncwarp();
  };
  for (uint64_t seed : {0, 1, 2}) simt::run({1, 96, 0, "warps"}, body, seed);
}

TEST(Simt, BarriersShareWhatThreadsFound) {
  const auto body = [] {
    EXPECT_EQ(__syncthreads_count(threadIdx.x % 3 == 0), 32);
    EXPECT_EQ(__syncthreads_and(threadIdx.x < 95), 0);
    EXPECT_EQ(__syncthreads_and(1), 1);
    EXPECT_EQ(__syncthreads_or(threadIdx.x == 50), 1);
    EXPECT_EQ(__syncthreads_or(0), 0);
  };
  for (uint64_t seed : {0, 1, 2}) simt::run({1, 96, 0, "barriers"}, body, seed);
}

TEST(Simt, SharedMemoryOfEachBlockStartsAsNaN) {
  struct Floats {
    float x[100];
  };
  const auto body = [] {
    auto& shared = shared_memory<Floats>();
    EXPECT_NE(shared.x[threadIdx.x], shared.x[threadIdx.x]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&shared) % 1024, 0u);
    shared.x[threadIdx.x] = 1;
  };
  simt::run({3, 100, sizeof(Floats), "poison"}, body, 0);
}

TEST(Simt, LoopsThatWaitLetTheOthersRun) {
  for (uint64_t seed : {0, 1, 2}) {
    int flag = 0, seen = 0;
    const auto body = [&] {
      if (threadIdx.x == 69) atomicExch(&flag, 1);
      else
        while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
      atomicAdd(&seen, 1);
    };
    simt::run({1, 70, 0, "flag"}, body, seed);
    EXPECT_EQ(seen, 70);
  }
}

TEST(Simt, HostThreadsTakeTurns) {
  std::vector<int64_t> sums(4, 0);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank] {
      for (int launch = 0; launch < 20; ++launch)
        simt::run(
            {2, 64, 0, "rank"}, [&] { atomicAdd(&sums[rank], __reduce_add_sync(0xffffffffu, 1) / 32); },
            launch);
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 20 * 2 * 64));
}

TEST(Simt, MessagesOutsideKernelsNameNobody) {
  EXPECT_EQ(simt::running_thread(), "");
  std::string inside;
  simt::run(
      {1, dim3(8, 8), 0, "who"},
      [&] {
        if (threadIdx.y == 7 && threadIdx.x == 7) inside = simt::running_thread();
      },
      0);
  EXPECT_EQ(inside, "who, block (0,0,0), thread (7,7,0) (warp 1, lane 31)");
}

}  // namespace
}  // namespace zoetrope::cuda
