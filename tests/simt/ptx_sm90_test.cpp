// A warp-specialised product on the instructions of sm_90a, against a plain loop: one warp copies tiles, a
// warpgroup multiplies. With one fault each, chosen by a template parameter, the same kernel must fail.
#include <gtest/gtest.h>
#include <cmath>
#include <random>
#include <vector>

#include "core/dtype.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/tensor_map.h"
#include "model/ops/cuda/wgmma.cuh"
#include "tests/simt/races.h"

namespace zoetrope::cuda {
namespace {

enum class Fault {
  kNone,
  kNoWaitForTiles,
  kNoWaitForProducts,
  kStageGivenBackEarly,
  kNoFence,
  kNoCommit,
  kWrongPlace
};

constexpr int kRows = 64, kDepth = 64, kStages = 2, kSteps = 5;
constexpr int kThreads = 160;  // a warpgroup that multiplies, a warp that copies

template <int kColumns>
struct alignas(1024) Shared {
  bf16 a[kStages][kRows * kDepth], b[kStages][kColumns * kDepth];
  uint64_t full[kStages], empty[kStages];
};

/// One thread fills the stages in turn.
template <int kColumns, bool kTransposedB>
__device__ void copy_stages(Shared<kColumns>& shared, const CUtensorMap* a, const CUtensorMap* b) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages;
    const uint32_t full = shared_address(&shared.full[stage]);
    mbarrier_wait(shared_address(&shared.empty[stage]), step / kStages % 2 ^ 1);
    mbarrier_arrive_expect(full, int(sizeof(shared.a[0]) + sizeof(shared.b[0])));
    copy_tile(shared_address(shared.a[stage]), a, 0, step * kDepth, full);
    if (kTransposedB)
      for (int column = 0; column < kColumns; column += 64)
        copy_tile(shared_address(shared.b[stage] + column * kDepth), b, step * kDepth, column, full);
    else copy_tile(shared_address(shared.b[stage]), b, 0, step * kDepth, full);
  }
}

template <int kColumns, bool kTransposedB, bool kRegisterA, Fault kFault>
__device__ void multiply_stages(Shared<kColumns>& shared, float (&d)[kColumns / 2]) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages;
    if (kFault != Fault::kNoWaitForTiles)
      mbarrier_wait(shared_address(&shared.full[stage]), step / kStages % 2);
    if (kFault == Fault::kStageGivenBackEarly) mbarrier_arrive(shared_address(&shared.empty[stage]));
    if (kFault != Fault::kNoFence) wgmma_fence();
    for (int k = 0; k < kDepth; k += 16) {
      const uint32_t a_place = shared_address(shared.a[stage]) + uint32_t(k) * 2;
      const uint32_t b_step =
          uint32_t(k) * (kTransposedB ? 128 : 2) + (kFault == Fault::kWrongPlace ? 1024 : 0);
      const uint64_t b =
          swizzled_operand(shared_address(shared.b[stage]) + b_step, kTransposedB ? 64 * 128 : 16);
      if constexpr (kRegisterA) {
        // ldmatrix reads rows of the swizzled tile: of 16-byte piece p of row r at piece p ^ r % 8.
        const int row = int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 16,
                  piece = k / 8 + int(threadIdx.x) % 32 / 16;
        uint32_t fragment[4];
        ldmatrix_x4(fragment, shared_address(shared.a[stage]) + uint32_t(row * 128 + (piece ^ row % 8) * 16));
        wgmma_fence();  // A's registers are written
        wgmma_m64k16<kTransposedB>(d, fragment, b, step + k > 0);
      } else {
        wgmma_m64k16<kTransposedB>(d, swizzled_operand(a_place), b, step + k > 0);
      }
    }
    if (kFault != Fault::kNoCommit) wgmma_commit();
    if (kFault != Fault::kNoWaitForProducts || step + 1 < kSteps) wgmma_wait<0>();
    if (kFault != Fault::kStageGivenBackEarly) mbarrier_arrive(shared_address(&shared.empty[stage]));
  }
}

template <int kColumns, bool kTransposedB, bool kRegisterA, Fault kFault>
__global__ void __launch_bounds__(kThreads)
    product_kernel(float* out, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b) {
  auto& shared = shared_memory<Shared<kColumns>>();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared_address(&shared.full[stage]), 1);
      mbarrier_init(shared_address(&shared.empty[stage]), 128);
    }
    fence_mbarrier_init();
  }
  __syncthreads();  // the barriers are made
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) copy_stages<kColumns, kTransposedB>(shared, &a, &b);
    return;
  }
  float d[kColumns / 2];
  multiply_stages<kColumns, kTransposedB, kRegisterA, kFault>(shared, d);
  const int lane = threadIdx.x % 32, row = int(threadIdx.x) / 32 * 16 + lane / 4;
  for (int i = 0; i < kColumns / 2; ++i)
    out[(row + i / 2 % 2 * 8) * kColumns + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
  if (kFault == Fault::kNoWaitForProducts) wgmma_wait<0>();
}

/// Small integers, so that every sum is exact; A and B are wider than what is used, and B has fewer rows than
/// a tile.
struct Problem {
  int columns;
  bool transposed_b;
  std::vector<bf16> a, b;
  int stride_a = kSteps * kDepth + 8, stride_b, rows_b;
  std::vector<float> expected;

  Problem(int columns, bool transposed_b) : columns(columns), transposed_b(transposed_b) {
    std::mt19937 random(11);
    std::uniform_int_distribution<int> small(-4, 4);
    const int depth = kSteps * kDepth - 24;  // the last tile hangs over the end of both
    stride_b = transposed_b ? columns + 16 : stride_a;
    rows_b = transposed_b ? depth : columns - 3;
    a.resize(kRows * stride_a);
    b.resize((transposed_b ? depth : columns) * stride_b);
    for (bf16& x : a) x = bf16(float(small(random)));
    for (bf16& x : b) x = bf16(float(small(random)));
    expected.assign(kRows * columns, 0.0f);
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < (transposed_b ? columns : rows_b); ++column)
        for (int k = 0; k < depth; ++k)
          expected[row * columns + column] +=
              float(a[row * stride_a + k]) *
              float(transposed_b ? b[k * stride_b + column] : b[column * stride_b + k]);
  }

  template <int kColumns, bool kTransposedB, bool kRegisterA, Fault kFault>
  std::vector<float> run(uint64_t seed) const {
    const int depth = kSteps * kDepth - 24;
    const CUtensorMap map_a = swizzled_boxes(a.data(), kRows, depth, stride_a, kRows);
    const CUtensorMap map_b = swizzled_boxes(b.data(), rows_b, kTransposedB ? columns : depth, stride_b,
                                             kTransposedB ? kDepth : kColumns);
    std::vector<float> out(kRows * kColumns, NAN);
    const auto body = [&] {
      product_kernel<kColumns, kTransposedB, kRegisterA, kFault>(out.data(), map_a, map_b);
    };
    simt::run({1, kThreads, sizeof(Shared<kColumns>), "product_kernel", simt::kMostSharedBytes}, body, seed);
    return out;
  }
};

template <int kColumns, bool kTransposedB, bool kRegisterA>
void expect_product() {
  const Problem problem(kColumns, kTransposedB);
  for (uint64_t seed : {0, 1, 2, 3})
    EXPECT_EQ((problem.run<kColumns, kTransposedB, kRegisterA, Fault::kNone>(seed)), problem.expected)
        << kColumns << " columns, transposed " << kTransposedB << ", A in registers " << kRegisterA
        << ", seed " << seed;
}

TEST(SimtSm90, ProductsOfTilesMatchThePlainLoop) {
  expect_product<64, false, false>();
  expect_product<64, true, false>();
  expect_product<128, false, false>();
  expect_product<128, true, false>();
  expect_product<64, false, true>();
  expect_product<128, true, true>();
  EXPECT_EQ(simt::num_races, 0);
}

/// In how many of the orders 0 to 7 a fault shows, as a wrong result or an error with `text`.
template <Fault kFault>
int orders_that_show(const std::string& text = "") {
  const Problem problem(64, false);
  int shown = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) try {
      shown += (problem.run<64, false, false, kFault>(seed)) != problem.expected;
    } catch (const simt::Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      ++shown;
    }
  return shown;
}

TEST(SimtSm90, PlantedFaultsShow) {
  EXPECT_EQ(orders_that_show<Fault::kNone>(), 0);
  EXPECT_EQ(orders_that_show<Fault::kNoWaitForTiles>(), 8);
  EXPECT_EQ(orders_that_show<Fault::kNoWaitForProducts>(), 8);
  EXPECT_GT(orders_that_show<Fault::kStageGivenBackEarly>(), 0);
  EXPECT_EQ(orders_that_show<Fault::kNoFence>("wgmma without a wgmma_fence()"), 8);
  EXPECT_EQ(orders_that_show<Fault::kNoCommit>("exits before it has waited for 20 of its wgmma"), 8);
  EXPECT_EQ(orders_that_show<Fault::kWrongPlace>(), 8);
  EXPECT_EQ(simt::num_races > 0, simt::kSeesRaces);
}

TEST(SimtSm90, MapsThatTheDriverRefuses) {
  alignas(16) static bf16 data[64 * 72] = {};
  swizzled_boxes(data, 64, 64, 72, 64);
  EXPECT_THROW(swizzled_boxes(data + 1, 63, 64, 72, 64), Error);  // starts off 16 bytes
  EXPECT_THROW(swizzled_boxes(data, 64, 64, 68, 64), Error);      // rows do
  EXPECT_THROW(swizzled_boxes(data, 64, 64, 72, 257), Error);     // boxes of more than 256 rows
  EXPECT_THROW(swizzled_boxes(data, 0, 64, 72, 64), Error);
}

/// The error of a kernel of one warpgroup.
std::string error_of(const std::function<void()>& body) {
  try {
    simt::run({1, 128, 2048, "bad_kernel"}, body, 0);
  } catch (const simt::Error& error) { return error.what(); }
  return "no error";
}

TEST(SimtSm90, Misuse) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = error_of([] { mbarrier_wait(0, 0); });
  EXPECT_TRUE(has(text, "no mbarrier_init has made a barrier at offset 0")) << text;
  text = error_of([] {
    if (threadIdx.x == 0) mbarrier_init(8, 128);
    __syncthreads();
    mbarrier_wait(8, 0);
  });
  EXPECT_TRUE(has(text, "livelock")) << text;
  text = error_of([] {
    if (threadIdx.x > 0) return;
    mbarrier_init(8, 1);
    mbarrier_arrive_expect(8, 64), mbarrier_arrive(8);
  });
  EXPECT_TRUE(has(text, "all 1 arrivals of the phase were there already")) << text;
  text = error_of([] {
    if (threadIdx.x >= 32) return;
    float d[32] = {};
    wgmma_fence();
    wgmma_m64k16<false>(d, swizzled_operand(0), swizzled_operand(0), false);
    wgmma_commit();
    wgmma_wait<0>();
  });
  EXPECT_TRUE(has(text, "of 2048 bytes of dynamic shared memory")) << text;  // of A, 64 rows of 128 bytes
  alignas(16) static bf16 data[64 * 64] = {};
  const CUtensorMap map = swizzled_boxes(data, 64, 64, 64, 8);
  text = error_of([&] {
    if (threadIdx.x > 0) return;
    mbarrier_init(1032, 1);
    copy_tile(0, &map, 0, 0, 1032);
  });
  EXPECT_TRUE(has(text, "the block ends while a tile is on its way")) << text;
  text = error_of([&] {
    if (threadIdx.x > 0) return;
    mbarrier_init(1032, 1);
    copy_tile(128, &map, 0, 0, 1032);
  });
  EXPECT_TRUE(has(text, "copy_tile: shared address 128 is not a multiple of 1024")) << text;
}

}  // namespace
}  // namespace zoetrope::cuda
