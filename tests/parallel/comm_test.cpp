// What every Comm promises: transfers between any ranks, sums in rank order with equal bits everywhere.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/rng.h"
#include "parallel/collectives.h"
#include "tests/support/ranks.h"

namespace zoetrope {
namespace {

using test::rank_counts;
using test::run_ranks;

float value_of(int rank, int64_t i) {
  const auto words = philox({uint32_t(i), uint32_t(rank), 7, 0}, {1, 2});
  return std::ldexp(float(int32_t(words[0])), -int(words[1] % 24) - 20);
}

TEST(Comm, SumIsInRankOrderAndBitEqualOnAllRanks) {
  const int64_t chunk = AllReduce::kChunkBytes / 4;
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    for (const int64_t n : {int64_t(0), int64_t(1), int64_t(2), int64_t(33), int64_t(1025), chunk + 257})
      run_ranks(ranks, [&](Comm& comm) {
        const Tensor x = Tensor::empty({n}, DType::kF32);
        for (int64_t i = 0; i < n; ++i) x.data<float>()[i] = value_of(comm.rank(), i);
        comm.all_reduce_sum(x);
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; ++i) {
          float expected = value_of(0, i);
          for (int r = 1; r < comm.size(); ++r) expected += value_of(r, i);
          wrong += std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(x.data<float>()[i]);
        }
        EXPECT_EQ(wrong, 0) << comm.size() << " ranks, " << n << " elements";
      });
}

TEST(Comm, SeveralSumsInFlightAdvanceByProgressAlone) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    run_ranks(ranks, [&](Comm& comm) {
      std::vector<Tensor> tensors;
      std::vector<std::unique_ptr<Transfer>> sums;
      for (int64_t t = 0; t < 5; ++t) {
        tensors.push_back(Tensor::empty({257 * t + 1}, DType::kF64));
        for (int64_t i = 0; i < tensors.back().rows(); ++i)
          tensors.back().data<double>()[i] = double((comm.rank() + 1) * (i + t));
        sums.push_back(comm.start_all_reduce_sum(tensors.back()));
      }
      comm.barrier();
      for (bool done = false; !done;) {
        comm.progress();
        done = true;
        for (const auto& sum : sums) done = sum->test() && done;
      }
      const int64_t total = int64_t(comm.size()) * (comm.size() + 1) / 2;
      for (int64_t t = 0; t < 5; ++t)
        for (int64_t i = 0; i < tensors[size_t(t)].rows(); ++i)
          EXPECT_EQ(tensors[size_t(t)].data<double>()[i], double(total * (i + t)));
    });
}

TEST(Comm, ExchangeMovesUnevenMessagesBetweenAllRanks) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    run_ranks(ranks, [&](Comm& comm) {
      const int n = comm.size(), me = comm.rank();
      const auto length = [](int from, int to) {
        return int64_t(from == to ? 0 : (from * 7 + to * 1031) % 4099);
      };
      std::vector<std::vector<uint8_t>> out(static_cast<size_t>(n)), in(static_cast<size_t>(n));
      std::vector<Send> sends;
      std::vector<Receive> receives;
      for (int r = 0; r < n; ++r) {
        out[size_t(r)].assign(size_t(length(me, r)), uint8_t(me * 16 + r));
        in[size_t(r)].assign(size_t(length(r, me)), 255);
        sends.push_back({r, out[size_t(r)].data(), length(me, r), 3});
        receives.push_back({r, in[size_t(r)].data(), length(r, me), 3});
      }
      const auto transfer = comm.exchange(sends, receives);
      while (!transfer->test()) comm.progress();
      transfer->wait();
      for (int r = 0; r < n; ++r)
        for (const uint8_t byte : in[size_t(r)]) ASSERT_EQ(int(byte), r * 16 + me);
    });
}

TEST(Comm, GatherBroadcastMaxBarrier) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    run_ranks(ranks, [&](Comm& comm) {
      const int mine = comm.rank() * 10;
      const std::vector<std::byte> all = comm.all_gather(&mine, sizeof mine);
      ASSERT_EQ(all.size(), sizeof mine * size_t(comm.size()));
      for (int r = 0; r < comm.size(); ++r) {
        int other = -1;
        std::memcpy(&other, all.data() + size_t(r) * sizeof other, sizeof other);
        EXPECT_EQ(other, 10 * r);
      }
      EXPECT_EQ(comm.all_reduce_max(comm.rank() == 0 ? 5.0 : -1.0), 5.0);
      EXPECT_TRUE(std::isnan(comm.all_reduce_max(comm.rank() + 1 == comm.size() ? NAN : 1.0)));
      int64_t value = comm.rank();
      comm.broadcast(&value, sizeof value, comm.size() - 1);
      EXPECT_EQ(value, comm.size() - 1);
      comm.barrier();
    });
}

TEST(Comm, SumOfAnotherTypeIsRefused) {
  run_local_ranks(1, [](Comm& comm) {
    EXPECT_THROW(comm.all_reduce_sum(Tensor::zeros({3}, DType::kBF16)), Error);
    EXPECT_THROW(comm.all_reduce_sum(Tensor::zeros({3, 8}, DType::kF32).columns(0, 4)), Error);
  });
}

}  // namespace
}  // namespace zoetrope
