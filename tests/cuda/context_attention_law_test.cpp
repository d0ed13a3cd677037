// Law 1 for attention on GPUs: rings of any members with uneven shards over NCCL give the attention of the
// whole sample, within the CPU's bounds, bit-equal whatever order streams and threads run in.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cuda/nccl_ranks.h"
#include "tests/support/ring_run.h"

namespace zoetrope {
namespace {

using namespace test;

constexpr Precision kF32{DType::kF32, DType::kF32};

struct RingResult {
  std::vector<RingOutcome> ranks;
  double worst() const {
    double most = 0;
    for (const RingOutcome& each : ranks) most = std::max(most, each.worst);
    return most;
  }
};

/// One case on ranks as threads, each with a device. `order` draws the order of streams and threads.
RingResult run(const RingCase& ring_case, int ranks, uint64_t order,
               PlantedFault fault = PlantedFault::kNone) {
  RingResult result;
  result.ranks.resize(size_t(ranks));
  NcclOptions options;
  options.sum_bytes = 4096;  // no sums here
  run_nccl_ranks({.count = ranks, .order = order}, options, [&](NcclComm& comm) {
    const ThreadPool pool(1);
    Arena arena(int64_t(1) << 20, Device::kCuda, "test");
    const std::unique_ptr<Ops> ops = make_ops(Device::kCuda, pool, arena);
    result.ranks[size_t(comm.rank())] = run_ring_case(ring_case, comm, *ops, arena, kF32, fault);
  });
  return result;
}

TEST(CudaContextAttention, EqualsWholeSampleAttentionInEveryOrder) {
  for (const int ranks : possible_device_counts({1, 2, 3, 4}))
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{1}, {31, 33, 7}, {5, 1, 4, 9, 2}})
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        const RingCase ring_case =
            make_ring_case(seed, ranks, ranks > 2 && seed == 2 ? ranks - 1 : -1, lengths);
        SCOPED_TRACE(join_message("seed ", seed, ", ", ranks, " ranks, plan ", plan_to_json(ring_case.plan)));
        const RingResult in_order = run(ring_case, ranks, 0);
        EXPECT_LE(in_order.worst(), 1);
        for (const uint64_t order : {seed * 10 + 1, seed * 10 + 2}) {
          const RingResult drawn = run(ring_case, ranks, order);
          for (int rank = 0; rank < ranks; ++rank)
            EXPECT_TRUE(drawn.ranks[size_t(rank)].bytes == in_order.ranks[size_t(rank)].bytes)
                << "rank " << rank << ", order " << order;
        }
      }
}

TEST(CudaContextAttention, PlantedFaultsExceedTheBoundTenfold) {
  ZT_NEEDS_DEVICES(3);
  const RingCase ring_case = make_ring_case(3, 3, -1, {97, 41});
  for (const PlantedFault fault :
       {PlantedFault::kSkipStep, PlantedFault::kLoseGradient, PlantedFault::kShiftedRows})
    EXPECT_GE(run(ring_case, 3, 4, fault).worst(), 10) << "fault " << int(fault);
}

}  // namespace
}  // namespace zoetrope
