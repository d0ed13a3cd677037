// The fragment layouts of ldmatrix and mma against plain loops, swizzles against bank conflicts, and cp.async
// at its worst.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/dtype.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/ptx.cuh"

namespace zoetrope::cuda {
namespace {

constexpr uint64_t kSeeds[] = {0, 1, 2, 3};

int lane() { return int(threadIdx.x) % 32; }

struct Matrices {
  uint16_t element[4][8][8];
};

/// Element (row, column) of matrix m holds 64 m + 8 row + column; thread's registers go to values[m][lane].
template <int kCount, bool kTransposed>
void load_kernel(uint32_t (*values)[32]) {
  auto& shared = shared_memory<Matrices>();
  for (int i = lane(); i < 256; i += 32) shared.element[i / 64][i / 8 % 8][i % 8] = uint16_t(i);
  __syncwarp();  // all elements are there
  const int row = lane() % (8 * kCount);
  const uint32_t address = shared_address(shared.element[row / 8][row % 8]);
  uint32_t got[4];
  if constexpr (kCount == 1 && kTransposed) ldmatrix_x1_trans(got[0], address);
  if constexpr (kCount == 1 && !kTransposed) ldmatrix_x1(got[0], address);
  uint32_t(&two)[2] = reinterpret_cast<uint32_t(&)[2]>(got);
  if constexpr (kCount == 2 && kTransposed) ldmatrix_x2_trans(two, address);
  if constexpr (kCount == 2 && !kTransposed) ldmatrix_x2(two, address);
  if constexpr (kCount == 4 && kTransposed) ldmatrix_x4_trans(got, address);
  if constexpr (kCount == 4 && !kTransposed) ldmatrix_x4(got, address);
  for (int m = 0; m < kCount; ++m) values[m][lane()] = got[m];
}

template <int kCount, bool kTransposed>
void expect_load() {
  for (uint64_t seed : kSeeds) {
    uint32_t values[4][32] = {};
    simt::run(
        {1, 32, sizeof(Matrices), "load_kernel"}, [&] { load_kernel<kCount, kTransposed>(values); }, seed);
    for (int m = 0; m < kCount; ++m)
      for (int l = 0; l < 32; ++l)
        for (int half = 0; half < 2; ++half) {
          const int row = l / 4, column = 2 * (l % 4) + half;
          const uint32_t expected = uint32_t(64 * m + (kTransposed ? 8 * column + row : 8 * row + column));
          EXPECT_EQ(values[m][l] >> (16 * half) & 0xffff, expected)
              << "matrix " << m << " lane " << l << " seed " << seed;
        }
  }
}

TEST(SimtPtx, MatrixLoadsMatchThePlainLoop) {
  expect_load<1, false>();
  expect_load<1, true>();
  expect_load<2, false>();
  expect_load<2, true>();
  expect_load<4, false>();
  expect_load<4, true>();
}

TEST(SimtPtx, ProductsMatchThePlainLoop) {
  // Small integers: every sum is exact in f32, so any order of additions gives the same.
  std::mt19937 random(7);
  std::uniform_int_distribution<int> small(-8, 8);
  float a[16][16], b[16][8], d[16][8], expected[16][8];
  for (auto& row : a)
    for (float& x : row) x = float(small(random));
  for (auto& row : b)
    for (float& x : row) x = float(small(random));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      d[i][j] = expected[i][j] = float(small(random));
      for (int k = 0; k < 16; ++k) expected[i][j] += a[i][k] * b[k][j];
    }
  const auto body = [&] {
    const int g = lane() / 4, t = 2 * (lane() % 4);
    const auto pair_of_a = [&](int row, int column) { return pack_bf16(a[row][column], a[row][column + 1]); };
    const uint32_t fragment[4] = {pair_of_a(g, t), pair_of_a(g + 8, t), pair_of_a(g, t + 8),
                                  pair_of_a(g + 8, t + 8)};
    float sum[4] = {d[g][t], d[g][t + 1], d[g + 8][t], d[g + 8][t + 1]};
    mma_m16n8k16(sum, fragment, pack_bf16(b[t][g], b[t + 1][g]), pack_bf16(b[t + 8][g], b[t + 9][g]));
    d[g][t] = sum[0], d[g][t + 1] = sum[1], d[g + 8][t] = sum[2], d[g + 8][t + 1] = sum[3];
  };
  simt::run({1, 32, 0, "product_kernel"}, body, 3);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) EXPECT_EQ(d[i][j], expected[i][j]) << i << " " << j;
}

/// Loads a 16 x 64 tile of bf16 with x4 loads, its 16-byte pieces swizzled or not.
void tile_kernel(bool swizzled) {
  struct Tile {
    uint16_t element[16][64];
  };
  auto& tile = shared_memory<Tile>();
  for (int piece = 0; piece < 8; piece += 2) {
    const int row = lane() % 16, column = piece + lane() / 16;
    uint32_t values[4];
    ldmatrix_x4(values,
                shared_address(tile.element[row]) + 16u * uint32_t(swizzled ? column ^ (row % 8) : column));
  }
}

TEST(SimtPtx, BankConflictsAreCounted) {
  simt::reset_stats();
  simt::run(
      {1, 32, 2048, "tile_kernel"}, [] { tile_kernel(true); }, 0);
  EXPECT_EQ(simt::stats().matrix_loads, 16u);
  EXPECT_EQ(simt::stats().extra_wavefronts, 0u);
  // Rows of 128 bytes: all eight of a matrix in the same banks, seven passes too many for each of 16
  // matrices.
  simt::run(
      {1, 32, 2048, "tile_kernel"}, [] { tile_kernel(false); }, 0);
  EXPECT_EQ(simt::stats().extra_wavefronts, 7u * 16u);
  // The same row for all is one pass.
  simt::reset_stats();
  simt::run(
      {1, 32, 2048, "same_row"},
      [] {
        uint32_t value;
        ldmatrix_x1(value, 0);
      },
      0);
  EXPECT_EQ(simt::stats().extra_wavefronts, 0u);
}

struct alignas(16) Pieces {
  float x[3][4];
};

TEST(SimtPtx, CopiesArriveAtTheWaitThatCoversThem) {
  alignas(16) float source[12];
  for (int i = 0; i < 12; ++i) source[i] = float(i + 1);
  const auto body = [&] {
    auto& shared = shared_memory<Pieces>();
    const uint32_t address = shared_address(&shared);
    EXPECT_TRUE(std::isnan(shared.x[0][0]));  // as every block starts
    shared.x[0][0] = 5;
    cp_async_16(address, source);
    EXPECT_TRUE(std::isnan(shared.x[0][0]));  // the issue alone destroys what was there
    cp_async_commit();
    cp_async_16_partial(address + 16, source + 4, 8);
    cp_async_commit();
    cp_async_16(address + 32, nullptr, false);
    cp_async_commit();
    cp_async_wait<2>();
    EXPECT_EQ(shared.x[0][3], 4.0f);
    EXPECT_TRUE(std::isnan(shared.x[1][0]));
    source[4] = 50;  // before the wait: the copy sees it
    cp_async_wait<1>();
    EXPECT_EQ(shared.x[1][0], 50.0f);
    EXPECT_EQ(shared.x[1][1], 6.0f);
    EXPECT_EQ(shared.x[1][2], 0.0f);
    EXPECT_TRUE(std::isnan(shared.x[2][0]));
    cp_async_wait<0>();
    for (float x : shared.x[2]) EXPECT_EQ(x, 0.0f);
  };
  simt::run({1, 1, sizeof(Pieces), "copy_kernel"}, body, 0);
}

TEST(SimtPtx, NamedBarriersJoinSomeWarps) {
  for (uint64_t seed : kSeeds) {
    int order[3] = {-1, -1, -1}, count = 0;
    // Warps 0 and 1 produce, warp 2 consumes, warp 3 takes no part.
    const auto body = [&] {
      const unsigned warp = threadIdx.x / 32;
      if (warp < 2) {
        if (lane() == 0) order[atomicAdd(&count, 1)] = int(warp);
        __syncwarp();
        barrier_arrive(3, 96);
      } else if (warp == 2) {
        barrier_sync(3, 96);
        if (lane() == 0) order[atomicAdd(&count, 1)] = 2;
      }
    };
    simt::run({1, 128, 0, "named_kernel"}, body, seed);
    ASSERT_EQ(count, 3) << "seed " << seed;
    EXPECT_EQ(order[2], 2) << "seed " << seed;
  }
}

TEST(SimtPtx, SmallFunctions) {
  EXPECT_EQ(pack_bf16(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(exp2_approx(-3.0f), 0.125f);
  EXPECT_EQ(exp2_approx(-130.0f), 0.0f);  // subnormal
  EXPECT_EQ(exp2_approx(-INFINITY), 0.0f);
}

}  // namespace
}  // namespace zoetrope::cuda
