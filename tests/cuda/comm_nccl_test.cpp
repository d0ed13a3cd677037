// The NCCL transport: what every Comm promises, ordered by streams alone, on emulated devices in every order
// that events leave open; failures of peers end all ranks with a message.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/rng.h"
#include "tests/cuda/nccl_ranks.h"

namespace zoetrope {
namespace {

constexpr int64_t kConnectionBytes = 1000;

/// Runs `body` on ranks as threads, each with a device.
void run_ranks(int ranks, uint64_t seed, const std::function<void(NcclComm&)>& body,
               NcclOptions options = {}) {
  options.sum_bytes = 4096;  // 1024 elements in flight: sums of more go in parts
  test::run_nccl_ranks({.count = ranks, .order = seed, .nccl_connection_bytes = kConnectionBytes}, options,
                       body);
}

float value_of(int rank, int64_t i) {
  const auto words = philox({uint32_t(i), uint32_t(rank), 7, 0}, {1, 2});
  return std::ldexp(float(int32_t(words[0])), -int(words[1] % 24) - 20);
}

Tensor on_host(const Tensor& tensor) {
  const Tensor host = Tensor::empty({tensor.rows()}, tensor.dtype());
  copy(host, tensor);
  return host;
}
Tensor on_device(int64_t count, const std::function<float(int64_t)>& value) {
  const Tensor host = Tensor::empty({count}, DType::kF32),
               device = Tensor::empty({count}, DType::kF32, Device::kCuda);
  for (int64_t i = 0; i < count; ++i) host.data<float>()[i] = value(i);
  copy(device, host);
  return device;
}

TEST(NcclComm, SumIsInRankOrderAndBitEqualOnAllRanks) {
  for (const int ranks : test::possible_device_counts({1, 2, 3, 4}))
    for (const uint64_t seed : {0, 1, 2})
      run_ranks(ranks, seed, [&](NcclComm& comm) {
        for (const int64_t n : {0, 1, 2, 33, 1025, 3000})
          for (const int64_t offset : {0, 3}) {
            const Tensor all = on_device(n + offset, [&](int64_t i) { return value_of(comm.rank(), i); });
            comm.all_reduce_sum(all.slice_rows(offset, n + offset));
            const Tensor host = on_host(all);
            int64_t wrong = 0;
            for (int64_t i = 0; i < n + offset; ++i) {
              float expected = value_of(i < offset ? comm.rank() : 0, i);
              for (int r = 1; r < comm.size() && i >= offset; ++r) expected += value_of(r, i);
              wrong += std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(host.data<float>()[i]);
            }
            EXPECT_EQ(wrong, 0) << comm.size() << " ranks, " << n << " elements from " << offset << ", seed "
                                << seed;
          }
      });
}

/// Uneven messages between all ranks, from buffers that are filled just before and overwritten just after.
/// `wait`: the compute waits for the transfer. Returns: whether all arrived.
bool exchange_all(NcclComm& comm, bool wait) {
  const int n = comm.size(), me = comm.rank();
  const auto length = [](int from, int to) {
    return int64_t(from == to ? 0 : (from * 7 + to * 1031) % 4099);
  };
  std::vector<Tensor> out, in;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int r = 0; r < n; ++r) {
    out.push_back(on_device(length(me, r), [&](int64_t) { return float(me * 16 + r); }));
    in.push_back(Tensor::empty({length(r, me)}, DType::kF32, Device::kCuda));
    sends.push_back({r, out.back().raw(), out.back().bytes(), 3});
    receives.push_back({r, in.back().raw(), in.back().bytes(), 3});
  }
  const auto transfer = comm.exchange(sends, receives);
  if (wait) transfer->wait();
  for (const Tensor& each : out) fill_zero(each);
  bool right = true;
  for (int r = 0; r < n; ++r) {
    const Tensor host = on_host(in[size_t(r)]);
    for (int64_t i = 0; i < host.rows(); ++i) right = right && host.data<float>()[i] == float(r * 16 + me);
  }
  while (!transfer->test()) comm.progress();
  comm.barrier();
  return right;
}

TEST(NcclComm, ExchangeMovesUnevenMessagesWithoutAWaitOnTheHost) {
  for (const int ranks : test::possible_device_counts({1, 2, 3, 4}))
    for (const uint64_t seed : {0, 1, 2, 3})
      run_ranks(ranks, seed, [&](NcclComm& comm) {
        EXPECT_TRUE(exchange_all(comm, true)) << comm.size() << " ranks, seed " << seed;
      });
}

TEST(NcclComm, PlantedMissingWaitShows) {
  ZT_NEEDS_EMULATION("GPUs may be in time by luck");
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed)
    run_ranks(2, seed, [&](NcclComm& comm) {
      const double failed = comm.all_reduce_max(exchange_all(comm, false) ? 0 : 1);
      if (comm.rank() == 0) wrong += failed > 0;
    });
  EXPECT_GT(wrong, 0);
}

TEST(NcclComm, SumsInFlightAndRingsKeepTheirOrder) {
  ZT_NEEDS_DEVICES(2);
  for (const int ranks : test::possible_device_counts({2, 3, 4}))
    for (uint64_t seed = 0; seed < 8; ++seed)
      run_ranks(ranks, seed, [&](NcclComm& comm) {
        const int next = (comm.rank() + 1) % comm.size(),
                  before = (comm.rank() + comm.size() - 1) % comm.size();
        for (int round = 0; round < 3; ++round) {
          const Tensor mine = on_device(300, [&](int64_t i) { return float(comm.rank() + i); });
          const Tensor other = Tensor::empty({300}, DType::kF32, Device::kCuda);
          const Tensor sum = on_device(2000, [&](int64_t) { return float(comm.rank()); });
          const auto ring =
              comm.exchange({{next, mine.raw(), mine.bytes(), 1}}, {{before, other.raw(), other.bytes(), 1}});
          const auto first = comm.start_all_reduce_sum(sum.slice_rows(0, 700));
          const auto second = comm.start_all_reduce_sum(sum.slice_rows(700, 2000));
          ring->wait();
          first->wait();
          second->wait();
          EXPECT_TRUE(first->test());
          const Tensor found = on_host(other), total = on_host(sum);
          int64_t wrong = 0;  // who left early would keep the others waiting
          for (int64_t i = 0; i < 300; ++i) wrong += found.data<float>()[i] != float(before + i);
          for (int64_t i = 0; i < 2000; ++i)
            wrong += total.data<float>()[i] != float(comm.size() * (comm.size() - 1) / 2);
          EXPECT_EQ(wrong, 0) << comm.size() << " ranks, seed " << seed;
        }
      });
}

TEST(NcclComm, HostMemoryGoesThroughTheHost) {
  for (const int ranks : test::possible_device_counts({1, 2, 3}))
    run_ranks(ranks, 0, [&](NcclComm& comm) {
      const std::vector<std::byte> all = comm.all_gather("x", 1);
      EXPECT_EQ(all.size(), size_t(comm.size()));
      EXPECT_EQ(comm.all_reduce_max(comm.rank()), comm.size() - 1);
      int value = comm.rank();
      comm.broadcast(&value, sizeof value, comm.size() - 1);
      EXPECT_EQ(value, comm.size() - 1);
      const int next = (comm.rank() + 1) % comm.size(),
                before = (comm.rank() + comm.size() - 1) % comm.size();
      int other = -1;
      comm.exchange({{next, &value, sizeof value, 1}}, {{before, &other, sizeof other, 1}})->wait();
      EXPECT_EQ(other, comm.size() - 1);
      const Tensor sum = Tensor::empty({2}, DType::kF64);
      sum.data<double>()[0] = sum.data<double>()[1] = 1;
      comm.all_reduce_sum(sum);
      EXPECT_EQ(sum.data<double>()[1], comm.size());
      const Tensor device = on_device(8, [](int64_t) { return 0; });
      EXPECT_THROW(comm.exchange({{next, device.raw(), 32, 1}}, {{before, &other, 4, 1}}), Error);
      EXPECT_THROW(comm.all_reduce_sum(Tensor::zeros({3}, DType::kF64, Device::kCuda)), Error);
      EXPECT_THROW(comm.all_reduce_sum(Tensor::zeros({3, 8}, DType::kF32, Device::kCuda).columns(0, 4)),
                   Error);
    });
}

TEST(NcclComm, ConnectionsAreOpenedAtStartAndCounted) {
  ZT_NEEDS_EMULATION("the memory of NCCL's connections is not known beforehand");
  run_ranks(3, 0, [&](NcclComm& comm) {
    EXPECT_EQ(comm.connection_bytes(), 2 * 2 * kConnectionBytes) << "two communicators, two peers";
    const int64_t use = test::device_bytes_in_use(comm.rank()).value();
    EXPECT_EQ(use, comm.connection_bytes() + comm.work_bytes());
    comm.barrier();
    EXPECT_TRUE(exchange_all(comm, true));
    EXPECT_EQ(test::device_bytes_in_use(comm.rank()).value(), use);
  });
}

/// The message that a run ends with; empty when it does not fail.
std::string failure_of(const std::function<void(NcclComm&)>& body, NcclOptions options = {}) {
  try {
    run_ranks(2, 0, body, options);
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(NcclComm, PlantedWrongOrderIsReportedAsACircularWait) {
  ZT_NEEDS_EMULATION("NCCL waits without end where the emulated one reports");
  const std::string text = failure_of([](NcclComm& comm) {
    const Tensor mine = on_device(8, [](int64_t) { return 1; }),
                 sum = on_device(8, [](int64_t) { return 1; });
    const Tensor other = Tensor::empty({8}, DType::kF32, Device::kCuda);
    const int mate = 1 - comm.rank();
    std::unique_ptr<Transfer> first, second;
    if (comm.rank() == 1) first = comm.start_all_reduce_sum(sum);  // the fault: before the ring
    const auto ring =
        comm.exchange({{mate, mine.raw(), mine.bytes(), 1}}, {{mate, other.raw(), other.bytes(), 1}});
    if (comm.rank() == 0) second = comm.start_all_reduce_sum(sum);
    ring->wait();
    on_host(other);
  });
  EXPECT_NE(text.find("a wait that nobody can end"), std::string::npos) << text;
  EXPECT_NE(text.find("circular wait"), std::string::npos) << text;
}

TEST(NcclComm, APeerThatDoesNotComeEndsAllByTheTimeout) {
  ZT_NEEDS_DEVICES(2);
  const std::string text = failure_of(
      [](NcclComm& comm) {
        if (comm.rank() == 0) {
          const Tensor mine = on_device(8, [](int64_t) { return 1; });
          comm.exchange({{1, mine.raw(), mine.bytes(), 1}}, {})->wait();
          Stream(Device::kCuda).synchronize();  // ends when the watch ends the communicators
        }
        comm.barrier();  // where the other rank waits meanwhile
      },
      {.timeout_seconds = 0.1});
  EXPECT_NE(text.find("a ring transfer of rank 0 (to 1, from) is under way for"), std::string::npos) << text;
  EXPECT_NE(text.find("a peer has failed or is late"), std::string::npos) << text;
}

TEST(NcclComm, AFailedRankEndsTheOthersWithItsMessage) {
  ZT_NEEDS_DEVICES(2);
  const std::string text = failure_of([](NcclComm& comm) {
    if (comm.rank() == 1) comm.abort("the disk is full");
    const Tensor mine = on_device(8, [](int64_t) { return 1; });
    comm.exchange({{1, mine.raw(), mine.bytes(), 1}}, {})->wait();
    comm.barrier();
  });
  EXPECT_NE(text.find("the disk is full"), std::string::npos) << text;
}

}  // namespace
}  // namespace zoetrope
