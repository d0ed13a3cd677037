// Ranks as threads end together: a failed rank, a circle of waits and a rank that has ended are errors.
#include <gtest/gtest.h>

#include <atomic>

#include "core/check.h"
#include "parallel/comm.h"

namespace zoetrope {
namespace {

std::string error_of(int ranks, const std::function<void(Comm&)>& body) {
  try {
    run_local_ranks(ranks, body);
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(LocalRanks, FirstErrorIsRethrownAndBlockedRanksEnd) {
  std::atomic<int> woken = 0;
  const std::string text = error_of(3, [&](Comm& comm) {
    if (comm.rank() == 1) throw Error("cannot read shard-00003.h5");
    try {
      comm.barrier();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1: cannot read shard-00003.h5"), std::string::npos);
      ++woken;
      throw;
    }
  });
  EXPECT_EQ(text, "cannot read shard-00003.h5");
  EXPECT_EQ(woken, 2);
}

TEST(LocalRanks, PollingRankSeesTheFailureToo) {
  const std::string text = error_of(2, [&](Comm& comm) {
    if (comm.rank() == 1) throw Error("broken");
    char byte = 0;
    const auto transfer = comm.exchange({}, {{1, &byte, 1, 0}});
    while (!transfer->test()) comm.progress();
  });
  EXPECT_EQ(text, "broken");
}

TEST(LocalRanks, CircleOfWaitsIsAnError) {
  const std::string text = error_of(3, [&](Comm& comm) {
    char byte = 0;
    const int next = (comm.rank() + 1) % 3, previous = (comm.rank() + 2) % 3;
    comm.exchange({}, {{previous, &byte, 1, 0}})->wait();  // every rank receives before it sends
    comm.exchange({{next, &byte, 1, 0}}, {})->wait();
  });
  EXPECT_NE(text.find("circular wait"), std::string::npos) << text;
}

TEST(LocalRanks, WaitingForAnEndedRankIsAnError) {
  const std::string text = error_of(2, [&](Comm& comm) {
    char byte = 0;
    if (comm.rank() == 0) comm.exchange({}, {{1, &byte, 1, 0}})->wait();
  });
  EXPECT_NE(text.find("nobody will send"), std::string::npos) << text;
}

TEST(LocalRanks, MessagesOfDifferentSizesAreAnError) {
  const std::string text = error_of(2, [&](Comm& comm) {
    char bytes[8] = {};
    if (comm.rank() == 0) comm.exchange({{1, bytes, 8, 0}}, {})->wait();
    else comm.exchange({}, {{0, bytes, 4, 0}})->wait();
  });
  EXPECT_NE(text.find("sends 8 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace zoetrope
