// Large messages move only inside calls of the transport: progress calls between pieces of compute must be
// enough to finish a transfer, so that the wait after the compute finds it complete.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/pace.h"
#include "tests/support/ranks.h"

namespace zoetrope {
namespace {

using test::Pace;
using test::rank_counts;
using test::run_ranks;

/// A piece of compute that no compiler drops.
void compute_piece(int64_t seed) {
  volatile float sink = float(seed);
  for (int i = 0; i < 2000; ++i) sink = sink * 0.999f + 0.5f;
}

struct Messages {
  std::vector<uint8_t> out, in;
  explicit Messages(int64_t bytes) : out(size_t(bytes), 1), in(size_t(bytes), 0) {}
  std::unique_ptr<Transfer> post(Comm& comm) {
    const int other = 1 - comm.rank();
    std::fill(in.begin(), in.end(), uint8_t(0));
    out.assign(out.size(), uint8_t(comm.rank() + 1));
    comm.barrier();
    const int64_t bytes = int64_t(out.size());
    return comm.exchange({{other, out.data(), bytes, 0}}, {{other, in.data(), bytes, 0}});
  }
  bool complete(const Comm& comm) const {
    const uint8_t expected = uint8_t(2 - comm.rank());
    return std::all_of(in.begin(), in.end(), [expected](uint8_t byte) { return byte == expected; });
  }
};

/// Calls that a transfer needs when both ranks make them in step; the most of several trials.
int64_t calls_needed(Comm& comm, Messages& messages, Pace& pace) {
  int64_t most = 0;
  for (int trial = 0; trial < 3; ++trial) {
    const auto transfer = messages.post(comm);
    int64_t calls = 1;
    while (!pace.both(transfer->test())) ++calls;
    most = std::max(most, calls);
  }
  return most;
}

TEST(Progress, TenTimesTheNeededCallsCompleteEveryTransfer) {
  for (const int ranks : rank_counts({2}))
    run_ranks(ranks, [](Comm& comm) {
      Pace pace(comm);
      for (const int64_t bytes : {int64_t(1), int64_t(4096), int64_t(1) << 20, int64_t(8) << 20}) {
        Messages messages(bytes);
        const int64_t needed = calls_needed(comm, messages, pace);
        for (int repeat = 0; repeat < 5; ++repeat) {
          const auto transfer = messages.post(comm);
          for (int64_t call = 0; call < 10 * needed; ++call) {
            compute_piece(call);
            comm.progress();
            pace.step();
          }
          EXPECT_TRUE(transfer->test())
              << bytes << " bytes, " << needed << " calls needed, rank " << comm.rank();
          transfer->wait();
          EXPECT_TRUE(messages.complete(comm));
        }
        if (comm.rank() == 0)
          testing::Test::RecordProperty("calls_for_" + std::to_string(bytes), std::to_string(needed));
      }
    });
}

}  // namespace
}  // namespace zoetrope
