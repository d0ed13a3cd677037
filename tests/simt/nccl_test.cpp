// The NCCL stand-in: what meets moves the right bytes, in every order of the streams; what can never meet is
// reported with who waits for whom.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/simt/devices.h"

namespace {

constexpr size_t kCount = 100;

/// One rank: a device, two communicators, each with a stream.
struct Rank {
  int rank = 0, size = 1;
  ncclComm_t rings = nullptr, collectives = nullptr;
  cudaStream_t ring_stream = nullptr, collective_stream = nullptr;
  cudaEvent_t event = nullptr;
  std::vector<float*> memory;

  float* floats(float value, size_t count = kCount) {
    float* device = nullptr;
    EXPECT_EQ(cudaMalloc(&device, count * sizeof(float)), cudaSuccess);
    const std::vector<float> host(count, value);
    EXPECT_EQ(cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    memory.push_back(device);
    return device;
  }
  /// To the next rank, from the one before.
  ncclResult_t ring(float* to, const float* from, size_t count = kCount, size_t expected = kCount) {
    ncclGroupStart();
    ncclSend(from, count, ncclFloat32, (rank + 1) % size, rings, ring_stream);
    ncclRecv(to, expected, ncclFloat32, (rank + size - 1) % size, rings, ring_stream);
    return ncclGroupEnd();
  }
  ncclResult_t sum(float* values, size_t count = kCount) {
    return ncclAllReduce(values, values, count, ncclFloat32, ncclSum, collectives, collective_stream);
  }
  cudaError_t after(cudaStream_t later, cudaStream_t earlier) {
    cudaEventRecord(event, earlier);
    return cudaStreamWaitEvent(later, event);
  }
  std::vector<float> read(const float* device, size_t count = kCount) {
    std::vector<float> host(count, -1.f);
    (void)cudaMemcpy(host.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost);
    return host;
  }
};

/// Runs `body` on ranks as threads, each with a device. `clean`: they destroy what they made.
void run_ranks(int ranks, uint64_t seed, const std::function<void(Rank&)>& body, bool clean = true) {
  simt::reset_devices({.devices = ranks, .seed = seed});
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto run = [&](int rank) {
    cudaSetDevice(rank);
    Rank r;
    r.rank = rank;
    r.size = ranks;
    EXPECT_EQ(ncclCommInitRank(&r.rings, ranks, ids[0], rank), ncclSuccess);
    EXPECT_EQ(ncclCommInitRank(&r.collectives, ranks, ids[1], rank), ncclSuccess);
    cudaStreamCreateWithFlags(&r.ring_stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&r.collective_stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&r.event, cudaEventDisableTiming);
    body(r);
    if (!clean) return;
    EXPECT_EQ(ncclCommDestroy(r.rings), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(r.collectives), ncclSuccess);
    for (float* each : r.memory) EXPECT_EQ(cudaFree(each), cudaSuccess);
    for (cudaStream_t stream : {r.ring_stream, r.collective_stream}) cudaStreamDestroy(stream);
    cudaEventDestroy(r.event);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  const std::string left = simt::reset_devices();
  EXPECT_TRUE(!clean || left.empty()) << "seed " << seed << ": " << left;
}

TEST(Nccl, MovesAndSumsInEveryOrder) {
  for (const int ranks : {1, 2, 3, 4})
    for (uint64_t seed = 0; seed < 6; ++seed)
      run_ranks(ranks, seed, [seed](Rank& r) {
        const std::string where = "rank " + std::to_string(r.rank) + ", seed " + std::to_string(seed);
        float *mine = r.floats(float(r.rank)), *other = r.floats(-1);
        float* sums = r.floats(float(r.rank + 1));
        float* all = r.floats(-1, kCount * size_t(r.size));
        ASSERT_EQ(r.ring(other, mine), ncclSuccess) << where;
        r.after(r.collective_stream, r.ring_stream);
        ASSERT_EQ(r.sum(sums), ncclSuccess) << where;
        ASSERT_EQ(
            ncclAllReduce(other, mine, kCount, ncclFloat32, ncclMax, r.collectives, r.collective_stream),
            ncclSuccess);
        ASSERT_EQ(ncclAllGather(other, all, kCount, ncclFloat32, r.collectives, r.collective_stream),
                  ncclSuccess);
        ASSERT_EQ(
            ncclBroadcast(other, other, kCount, ncclFloat32, r.size - 1, r.collectives, r.collective_stream),
            ncclSuccess);
        ASSERT_EQ(cudaStreamSynchronize(r.collective_stream), cudaSuccess) << where;
        const std::vector<float> total = r.read(sums), gathered = r.read(all, kCount * size_t(r.size));
        for (size_t i = 0; i < kCount; ++i) {
          ASSERT_EQ(total[i], float(r.size * (r.size + 1) / 2)) << where;
          ASSERT_EQ(r.read(mine)[i], float(r.size - 1)) << where;
          ASSERT_EQ(r.read(other)[i], float((2 * r.size - 2) % r.size)) << where;
          for (int rank = 0; rank < r.size; ++rank)
            ASSERT_EQ(gathered[size_t(rank) * kCount + i], float((rank + r.size - 1) % r.size)) << where;
          if (i == 2) i = kCount - 2;  // reading all of it each time takes long
        }
      });
}

TEST(Nccl, WrongGlobalOrderIsReportedAsACircularWait) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<std::string> texts(2);
    run_ranks(
        2, seed,
        [&](Rank& r) {
          float *mine = r.floats(1), *other = r.floats(2), *sums = r.floats(3);
          if (r.rank == 0) {
            EXPECT_EQ(r.ring(other, mine), ncclSuccess);
            r.after(r.collective_stream, r.ring_stream);
            EXPECT_EQ(r.sum(sums), ncclSuccess);
          } else {  // the fault: sums first
            EXPECT_EQ(r.sum(sums), ncclSuccess);
            r.after(r.ring_stream, r.collective_stream);
            EXPECT_EQ(r.ring(other, mine), ncclSuccess);
          }
          EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
          texts[size_t(r.rank)] = cudaGetErrorString(cudaErrorLaunchTimeout);
        },
        false);
    for (const std::string& text : texts)
      for (const char* part :
           {"a wait that nobody can end", "needs rank 0 to come to its", "needs rank 1 to come to its",
            "all-reduce (sum) of 100 elements", "receive from rank", "circular wait"})
        EXPECT_NE(text.find(part), std::string::npos) << "seed " << seed << ", " << part << " in: " << text;
  }
}

TEST(Nccl, TwoCommunicatorsWithoutOrderBetweenTheirStreamsMayLockUp) {
  int locked = 0;
  constexpr int kSeeds = 12;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::atomic<bool> failed = false;
    run_ranks(
        2, seed,
        [&](Rank& r) {
          float *mine = r.floats(1), *other = r.floats(2), *sums = r.floats(3);
          EXPECT_EQ(r.ring(other, mine), ncclSuccess);
          EXPECT_EQ(r.sum(sums), ncclSuccess);  // the fault: same order on both hosts, none on the devices
          if (cudaDeviceSynchronize() != cudaSuccess) failed = true;
        },
        false);
    locked += failed;
  }
  EXPECT_GT(locked, 0) << "each seed has an even chance";
  EXPECT_LT(locked, kSeeds);
}

/// Two ranks, of which the second does something wrong; what rank 0 is told.
std::string told(const std::function<void(Rank&)>& body) {
  std::string text;
  run_ranks(
      2, 0,
      [&](Rank& r) {
        body(r);
        const cudaError_t status = cudaDeviceSynchronize();
        if (r.rank == 0) text = status == cudaSuccess ? "no error" : cudaGetErrorString(status);
      },
      false);
  return text;
}

TEST(Nccl, PartsThatDoNotFitAreReported) {
  EXPECT_NE(told([](Rank& r) {
              float *mine = r.floats(1), *other = r.floats(2);
              r.ring(other, mine, kCount, r.rank == 1 ? kCount - 1 : kCount);
            }).find("sizes differ"),
            std::string::npos);
  const std::string collective = told([](Rank& r) { r.sum(r.floats(1), r.rank == 1 ? kCount - 1 : kCount); });
  EXPECT_NE(collective.find("rank 1 to its all-reduce (sum) of 99 elements"), std::string::npos)
      << collective;
  const std::string missing = told([](Rank& r) {
    if (r.rank == 0) r.sum(r.floats(1));
  });
  EXPECT_NE(missing.find("a call of rank 1 that is not issued yet"), std::string::npos) << missing;
  EXPECT_NE(missing.find("that host thread has ended"), std::string::npos) << missing;
  const std::string left = told([](Rank& r) {
    if (r.rank == 0) r.sum(r.floats(1));
    else ncclCommAbort(r.collectives);
  });
  EXPECT_NE(left.find("needs rank 1, which has left"), std::string::npos) << left;
}

TEST(Nccl, RefusesWrongArguments) {
  run_ranks(2, 0, [](Rank& r) {
    float *x = r.floats(1), *y = r.floats(2);
    EXPECT_EQ(ncclAllReduce(x, y, kCount + 1, ncclFloat32, ncclSum, r.collectives, r.collective_stream),
              ncclInvalidArgument);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("run over the end"), std::string::npos);
    EXPECT_EQ(ncclAllReduce(x, x + 1, kCount - 1, ncclFloat32, ncclSum, r.collectives, r.collective_stream),
              ncclInvalidArgument);
    std::vector<float> host(kCount);
    EXPECT_EQ(ncclSend(host.data(), kCount, ncclFloat32, 1, r.rings, r.ring_stream), ncclInvalidArgument);
    EXPECT_EQ(ncclSend(x, kCount, ncclFloat32, 2, r.rings, r.ring_stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    ncclResult_t error = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(r.rings, &error), ncclSuccess);
    EXPECT_EQ(error, ncclSuccess);
  });
}

TEST(Nccl, ConnectionsTakeDeviceMemoryWhenFirstUsed) {
  run_ranks(3, 0, [](Rank& r) {
    float *mine = r.floats(1), *other = r.floats(2);
    const int64_t before = simt::memory_use(r.rank).bytes;
    r.ring(other, mine);
    const int64_t after = simt::memory_use(r.rank).bytes;
    EXPECT_EQ(after - before, 2 * simt::DeviceOptions{}.nccl_connection_bytes);
    r.ring(other, mine);
    EXPECT_EQ(simt::memory_use(r.rank).bytes, after);
    EXPECT_EQ(cudaStreamSynchronize(r.ring_stream), cudaSuccess);
  });
}

}  // namespace
