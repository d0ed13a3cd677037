// Law 1 on this machine: loss and every gradient with N ranks against one rank, for every planner and for
// random plans, within a tolerance that follows from one-rank runs which differ only in summation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/ops/ops.h"
#include "parallel/comm.h"

namespace zoetrope {

/// Faults that tests plant, to show that the self-test would notice them.
enum class SelftestFault { kNone, kSkipRingStep, kLoseKeyGradient, kShiftPosition, kLeaveOutCount };

struct SelftestOptions {
  Precision precision;
  uint64_t seed = 1;
  int64_t random_plans = 6;
  int64_t every = 1;  ///< of so many cases one is run: some backends are slow in tests
  SelftestFault fault = SelftestFault::kNone;
  Device device = Device::kCpu;
  /// Backend under test; empty: the device's.
  std::function<std::unique_ptr<Ops>(const ThreadPool&, Arena&)> make_backend;
};

/// One plan: how far N ranks are from one.
struct SelftestRow {
  std::string name;  ///< which samples and cap, and which planner
  int64_t waves = 0, rings = 0, largest_ring = 0;
  double loss = 0, one_rank_loss = 0;
  std::string worst_tensor;             ///< the loss or a parameter
  double deviation = 0, tolerance = 0;  ///< of that tensor
  double ratio = 0;                     ///< deviation / tolerance, the largest of all tensors
  bool bit_equal = false;               ///< two runs, and all ranks, hold the same bits
};

struct SelftestReport {
  int ranks = 1;
  std::vector<SelftestRow> rows;
  double worst_ratio() const;
  bool passed() const;
};

/// Runs all cases; every rank calls it, and gets the same report.
SelftestReport run_selftest(Comm& comm, const SelftestOptions& options);
/// One object with ranks, passed, worst_ratio and rows.
std::string selftest_to_json(const SelftestReport& report);

}  // namespace zoetrope
