// The emulated link: a message is never seen before bytes / rate + latency, messages of one direction queue
// up behind each other, and other directions don't.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "core/check.h"
#include "parallel/comm_link.h"

namespace zoetrope {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr double kRate = 1e6;  // 20,000 bytes take 20 ms
constexpr double kLatency = 5e-3;
constexpr int64_t kBytes = 20000;

TEST(LinkComm, MessageIsNotSeenBeforeItsTime) {
  run_local_ranks(2, [](Comm& threads) {
    const auto comm = make_link_comm(threads, kRate, kLatency);
    std::vector<uint8_t> out(size_t(kBytes), uint8_t(comm->rank() + 1)), in(static_cast<size_t>(kBytes));
    const int other = 1 - comm->rank();
    const auto start = std::chrono::steady_clock::now();
    const auto transfer = comm->exchange({{other, out.data(), kBytes, 4}}, {{other, in.data(), kBytes, 4}});
    while (!transfer->test()) comm->progress();
    EXPECT_GE(seconds_since(start), double(kBytes) / kRate + kLatency);
    EXPECT_EQ(in, std::vector<uint8_t>(size_t(kBytes), uint8_t(other + 1)));
  });
}

TEST(LinkComm, MessagesOfOneDirectionQueueUp) {
  run_local_ranks(2, [](Comm& threads) {
    const auto comm = make_link_comm(threads, kRate, kLatency);
    std::vector<uint8_t> out(static_cast<size_t>(kBytes)), in(static_cast<size_t>(2 * kBytes));
    const int other = 1 - comm->rank();
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (int i = 0; i < 2; ++i)
      transfers.push_back(
          comm->exchange({{other, out.data(), kBytes, i}}, {{other, in.data() + i * kBytes, kBytes, i}}));
    transfers[1]->wait();  // out of order on purpose
    EXPECT_GE(seconds_since(start), 2 * double(kBytes) / kRate + kLatency);
    EXPECT_TRUE(transfers[0]->test());
  });
}

TEST(LinkComm, ImpossibleFiguresAreRefused) {
  run_local_ranks(1, [](Comm& threads) {
    EXPECT_THROW(make_link_comm(threads, 0, 0), Error);
    EXPECT_THROW(make_link_comm(threads, std::numeric_limits<double>::quiet_NaN(), 0), Error);
    EXPECT_THROW(make_link_comm(threads, 1, -1), Error);
  });
}

}  // namespace
}  // namespace zoetrope
