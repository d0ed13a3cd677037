// Law 1 on GPUs: loss and every gradient of N ranks with a device each, their rings and sums over NCCL, are
// those of one rank, under every planner's plan and random ones, whatever order streams and threads run in.
#include <gtest/gtest.h>

#include <algorithm>

#include "parallel/selftest.h"
#include "tests/cuda/nccl_ranks.h"

namespace zoetrope {
namespace {

SelftestReport run(int ranks, uint64_t seed, const SelftestOptions& options) {
  SelftestReport report;
  NcclOptions nccl;
  nccl.sum_bytes = 1 << 14;
  test::run_nccl_ranks({.count = ranks, .order = seed}, nccl, [&](NcclComm& comm) {
    const SelftestReport mine = run_selftest(comm, options);
    if (comm.rank() == 0) report = mine;
  });
  return report;
}

SelftestOptions on_device(Precision precision) {
  SelftestOptions options;
  options.device = Device::kCuda;
  options.precision = precision;
  options.random_plans = 1;
  options.every = 11;
  return options;
}

void expect_passed(const SelftestReport& report) {
  ASSERT_FALSE(report.rows.empty());
  int64_t largest = 0;
  for (const SelftestRow& row : report.rows) {
    EXPECT_LE(row.ratio, 1) << row.name << ": " << row.worst_tensor << " deviates by " << row.deviation
                            << ", tolerance " << row.tolerance;
    EXPECT_TRUE(row.bit_equal) << row.name;
    largest = std::max(largest, row.largest_ring);
  }
  EXPECT_EQ(largest, report.ranks) << "no case has a sample over all ranks";
}

TEST(CudaLaw1, PlanNeverChangesLossAndGradients) {
  ZT_NEEDS_DEVICES(2);
  for (const int ranks : test::possible_device_counts({2, 3})) {
    SCOPED_TRACE(join_message(ranks, " ranks"));
    expect_passed(run(ranks, uint64_t(ranks), on_device({DType::kF32, DType::kF32})));
  }
}

TEST(CudaLaw1, HoldsInBf16) {
  ZT_NEEDS_DEVICES(2);
  expect_passed(run(2, 5, on_device({DType::kBF16, DType::kF32})));
}

TEST(CudaLaw1, PlantedFaultsExceedTheToleranceTenfold) {
  ZT_NEEDS_DEVICES(2);
  SelftestOptions options = on_device({DType::kF32, DType::kF32});
  options.fault = SelftestFault::kSkipRingStep;
  EXPECT_GE(run(2, 6, options).worst_ratio(), 10);
}

}  // namespace
}  // namespace zoetrope
