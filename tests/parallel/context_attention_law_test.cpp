// Law 1 for attention: rings of any members with uneven shards give the attention of the whole sample,
// forward and backward, bit-equal from run to run; and no rank waits in a circle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/ranks.h"
#include "tests/support/reference_ops.h"
#include "tests/support/rendezvous.h"
#include "tests/support/ring_run.h"

namespace zoetrope {
namespace {

using namespace test;

constexpr Precision kF32{DType::kF32, DType::kF32};

/// A rank's backend: one thread, so that rank counts alone differ.
struct Backend {
  ThreadPool pool{1};
  Arena arena{int64_t(16) << 20, Device::kCpu, "test"};
  std::unique_ptr<Ops> ops = make_ops(Device::kCpu, pool, arena);
};

std::vector<std::vector<int64_t>> length_tables() {
  return {{1}, {2, 3}, {31, 33, 7}, {65}, {5, 1, 4, 9, 2}, {97, 3, 41}};
}

double ulp_bf16(double value) { return std::ldexp(1.0, std::ilogb(value) - 7); }

/// Largest value of tensor i of (out, lse, dq, dk, dv) over all samples.
double largest(const RingCase& ring_case, size_t i) {
  double most = 0;
  for (const WholeAttention& w : ring_case.whole)
    for (const double value : *std::array{&w.out, &w.lse, &w.dq, &w.dk, &w.dv}[i])
      most = std::max(most, std::abs(value));
  return most;
}

void check_case(uint64_t seed, int ranks, int idle, const std::vector<int64_t>& lengths) {
  const RingCase ring_case = make_ring_case(seed, ranks, idle, lengths);
  SCOPED_TRACE(join_message("seed ", seed, ", ", ranks, " ranks, idle ", idle, ", plan ",
                            plan_to_json(ring_case.plan)));
  run_ranks(ranks, [&](Comm& comm) {
    Backend backend;
    const RingOutcome first =
        run_ring_case(ring_case, comm, *backend.ops, backend.arena, kF32, PlantedFault::kNone);
    const RingOutcome again =
        run_ring_case(ring_case, comm, *backend.ops, backend.arena, kF32, PlantedFault::kNone);
    EXPECT_LE(first.worst, 1) << "rank " << comm.rank();
    EXPECT_TRUE(first.bytes == again.bytes) << "rank " << comm.rank() << ": two runs differ";
  });
}

TEST(ContextAttention, EqualsWholeSampleAttention) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    for (const auto& lengths : length_tables())
      for (uint64_t seed = 1; seed <= 8; ++seed)
        check_case(seed, ranks, ranks > 1 && seed % 3 == 0 ? int(seed) % ranks : -1, lengths);
}

TEST(ContextAttention, EqualsWholeSampleAttentionInDouble) {
  constexpr Precision kF64{DType::kF64, DType::kF64};
  for (const int ranks : rank_counts({2, 3, 4}))
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const RingCase ring_case = make_ring_case(seed, ranks, -1, {31, 5, 18});
      SCOPED_TRACE(join_message("seed ", seed, ", plan ", plan_to_json(ring_case.plan)));
      run_ranks(ranks, [&](Comm& comm) {
        const ReferenceOps ops;
        Arena arena(int64_t(1) << 20, Device::kCpu, "test");
        EXPECT_LE(run_ring_case(ring_case, comm, ops, arena, kF64, PlantedFault::kNone).worst, 1);
      });
    }
}

/// bf16 on rings errs at most twice as much as bf16 on one rank, plus one unit in the last place.
TEST(ContextAttention, Bf16IsNoWorseThanTwiceThatOfOneRank) {
  constexpr Precision kBf16{DType::kBF16, DType::kF32};
  for (const int ranks : rank_counts({2, 3, 4}))
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const std::vector<int64_t> lengths{65, 7, 33};
      const RingCase split = make_ring_case(seed, ranks, -1, lengths, DType::kBF16);
      const RingCase whole = make_ring_case(seed, 1, -1, lengths, DType::kBF16);
      std::array<double, 5> allowed{};
      run_local_ranks(1, [&](Comm& comm) {
        Backend backend;
        allowed = run_ring_case(whole, comm, *backend.ops, backend.arena, kBf16, PlantedFault::kNone).errors;
      });
      for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = 2 * allowed[i] + ulp_bf16(largest(whole, i));
      SCOPED_TRACE(join_message("seed ", seed, ", plan ", plan_to_json(split.plan)));
      run_ranks(ranks, [&](Comm& comm) {
        Backend backend;
        const auto errors =
            run_ring_case(split, comm, *backend.ops, backend.arena, kBf16, PlantedFault::kNone).errors;
        for (size_t i = 0; i < errors.size(); ++i)
          EXPECT_LE(errors[i], allowed[i]) << "tensor " << i << ", rank " << comm.rank();
      });
    }
}

/// The largest deviation that any rank sees with a fault planted.
double deviation_with(PlantedFault fault, int ranks, uint64_t seed) {
  const RingCase ring_case = make_ring_case(seed, ranks, -1, {65, 33});
  if (split_samples(ring_case.plan.waves[0]).empty()) return -1;
  double worst = 0;
  run_local_ranks(ranks, [&](Comm& comm) {
    Backend backend;
    const RingOutcome outcome = run_ring_case(ring_case, comm, *backend.ops, backend.arena, kF32, fault);
    const double largest = comm.all_reduce_max(outcome.worst);
    if (comm.rank() == 0) worst = largest;
  });
  return worst;
}

TEST(ContextAttention, PlantedFaultsExceedTheBoundTenfold) {
  for (const int ranks : {2, 3, 4})
    for (const PlantedFault fault :
         {PlantedFault::kSkipStep, PlantedFault::kLoseGradient, PlantedFault::kShiftedRows})
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        const double worst = deviation_with(fault, ranks, seed);
        if (worst < 0) continue;  // the plan splits nothing: no ring to break
        EXPECT_GE(worst, 10) << "fault " << int(fault) << ", " << ranks << " ranks, seed " << seed;
      }
}

TEST(ContextAttention, NoCircularWaitThroughBlockingRendezvous) {
  for (const int ranks : {2, 3, 4})
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      const RingCase ring_case = make_ring_case(seed, ranks, -1, {9, 13, 7, 11, 12, 6, 10});
      SCOPED_TRACE(join_message("seed ", seed, ", plan ", plan_to_json(ring_case.plan)));
      run_local_ranks(ranks, [&](Comm& threads) {
        RendezvousComm comm(threads);
        Backend backend;
        EXPECT_LE(
            run_ring_case(ring_case, comm, *backend.ops, backend.arena, kF32, PlantedFault::kNone).worst, 1);
      });
    }
}

TEST(ContextAttention, PlanOfAnotherSizeIsRefused) {
  const RingCase ring_case = make_ring_case(1, 3, -1, {33});
  run_local_ranks(2, [&](Comm& comm) {
    Backend backend;
    ContextAttention attention(*backend.ops, comm, backend.arena, ModelConfig{}, kF32, 8);
    EXPECT_THROW(attention.begin_wave(ring_case.plan, 0), Error);
  });
}

}  // namespace
}  // namespace zoetrope
