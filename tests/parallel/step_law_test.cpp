// Law 1 for the whole network: loss and every gradient of N ranks are those of one rank within the derived
// tolerance, under every planner's plan and random ones, and bit-equal from run to run. Planted faults are
// seen.
#include <gtest/gtest.h>

#include "core/check.h"
#include "parallel/selftest.h"
#include "tests/support/ranks.h"
#include "tests/support/reference_ops.h"
#include "tests/support/rendezvous.h"

namespace zoetrope {
namespace {

using namespace test;

void expect_passed(const SelftestReport& report) {
  for (const SelftestRow& row : report.rows) {
    EXPECT_LE(row.ratio, 1) << report.ranks << " ranks, " << row.name << ": " << row.worst_tensor
                            << " deviates by " << row.deviation << ", tolerance " << row.tolerance;
    EXPECT_TRUE(row.bit_equal) << report.ranks << " ranks, " << row.name;
  }
  EXPECT_TRUE(report.passed());
}

TEST(Law1, PlanNeverChangesLossAndGradients) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    run_ranks(ranks, [](Comm& comm) {
      const SelftestReport report = run_selftest(comm, {});
      if (comm.rank() == 0) expect_passed(report);
      if (comm.size() > 1) {
        int64_t largest = 0;
        for (const SelftestRow& row : report.rows) largest = std::max(largest, row.largest_ring);
        EXPECT_EQ(largest, comm.size()) << "no case has a sample over all ranks";
      }
    });
}

TEST(Law1, HoldsInDoublePrecision) {
  for (const int ranks : rank_counts({2, 3}))
    run_ranks(ranks, [](Comm& comm) {
      SelftestOptions options;
      options.precision = {DType::kF64, DType::kF64};
      options.random_plans = 2;
      options.make_backend = [](const ThreadPool&, Arena&) -> std::unique_ptr<Ops> {
        return std::make_unique<ReferenceOps>();
      };
      const SelftestReport report = run_selftest(comm, options);
      if (comm.rank() == 0) expect_passed(report);
    });
}

TEST(Law1, HoldsInBf16) {
  for (const int ranks : rank_counts({2, 3}))
    run_ranks(ranks, [](Comm& comm) {
      SelftestOptions options;
      options.precision = {DType::kBF16, DType::kF32};
      const SelftestReport report = run_selftest(comm, options);
      if (comm.rank() == 0) expect_passed(report);
    });
}

/// The largest deviation of any case with a fault planted, in multiples of the tolerance.
double worst_with(SelftestFault fault, int ranks) {
  double worst = 0;
  run_local_ranks(ranks, [&](Comm& comm) {
    SelftestOptions options;
    options.fault = fault;
    const SelftestReport report = run_selftest(comm, options);
    if (comm.rank() == 0) worst = report.worst_ratio();
  });
  return worst;
}

TEST(Law1, PlantedFaultsExceedTheToleranceTenfold) {
  for (const int ranks : {2, 3})
    for (const SelftestFault fault : {SelftestFault::kSkipRingStep, SelftestFault::kLoseKeyGradient,
                                      SelftestFault::kShiftPosition, SelftestFault::kLeaveOutCount})
      EXPECT_GE(worst_with(fault, ranks), 10) << "fault " << int(fault) << " on " << ranks << " ranks";
}

TEST(NoCircularWait, StepsRunThroughBlockingRendezvous) {
  for (const int ranks : {2, 3, 4})
    run_local_ranks(ranks, [](Comm& threads) {
      RendezvousComm comm(threads);
      SelftestOptions options;
      options.random_plans = 12;
      const SelftestReport report = run_selftest(comm, options);
      if (comm.rank() == 0) expect_passed(report);
    });
}

}  // namespace
}  // namespace zoetrope
