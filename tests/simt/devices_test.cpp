// The emulated device keeps what a real one promises to host code, and no more: planted faults must show.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "tests/simt/devices.h"
#include "tests/simt/include/simt_launch.h"
#include "tests/simt/sanitizer.h"

namespace {

using simt::DeviceOptions;
using simt::reset_devices;

constexpr int kCount = 64;

class Devices : public testing::Test {
 protected:
  void SetUp() override {
    reset_devices();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  void TearDown() override { EXPECT_EQ(reset_devices(), ""); }
};

cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  return stream;
}
cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, flags), cudaSuccess);
  return event;
}
float* device_floats(int count = kCount) {
  float* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, size_t(count) * sizeof(float)), cudaSuccess);
  return memory;
}
std::vector<float> read(const float* memory, int count = kCount) {
  std::vector<float> values(static_cast<size_t>(count));
  EXPECT_EQ(cudaMemcpy(values.data(), memory, values.size() * sizeof(float), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}
simt::LaunchShape shape(const char* name, unsigned threads = 1, size_t shared_bytes = 0) {
  simt::LaunchShape launch;
  launch.block = threads;
  launch.dynamic_shared_bytes = shared_bytes;
  launch.name = name;
  return launch;
}
/// to[i] = from[i] + 1, or value when there is no `from`.
cudaError_t launch_step(float* to, const float* from, float value, cudaStream_t stream) {
  return simt::launch(nullptr, shape("step", kCount), stream, [=] {
    const unsigned i = threadIdx.x;
    to[i] = from ? from[i] + 1 : value;
  });
}

TEST_F(Devices, NothingRunsBeforeSomebodyWaits) {
  float* x = device_floats();
  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, kCount * sizeof(float)), cudaSuccess);
  const cudaStream_t stream = new_stream();
  pinned[0] = -1;
  launch_step(x, nullptr, 3, stream);
  cudaMemcpyAsync(pinned, x, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream);
  EXPECT_EQ(simt::pending_operations(), 2);
  EXPECT_EQ(pinned[0], -1);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[0], 3);
  cudaFreeHost(pinned);
  cudaFree(x);
  cudaStreamDestroy(stream);
}

/// A value goes through two streams; `wait`: the second waits for the first's event.
bool handed_over(uint64_t seed, bool wait) {
  reset_devices({.seed = seed});
  float *x = device_floats(), *y = device_floats();
  const cudaStream_t first = new_stream(), second = new_stream();
  const cudaEvent_t written = new_event();
  launch_step(x, nullptr, 7, first);
  cudaEventRecord(written, first);
  if (wait) cudaStreamWaitEvent(second, written);
  launch_step(y, x, 0, second);
  cudaStreamSynchronize(second);
  const bool right = read(y)[kCount - 1] == 8;
  cudaStreamSynchronize(first);
  for (float* memory : {x, y}) cudaFree(memory);
  for (cudaStream_t stream : {first, second}) cudaStreamDestroy(stream);
  cudaEventDestroy(written);
  return right;
}

TEST_F(Devices, MissingEventWaitShowsAsWrongData) {
  constexpr int kSeeds = 20;  // each has an even chance: all miss it once in a million runs
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_TRUE(handed_over(seed, true)) << "seed " << seed;
    wrong += !handed_over(seed, false);
  }
  EXPECT_GT(wrong, 0);
  EXPECT_TRUE(handed_over(0, false)) << "seed 0 is issue order";
}

TEST_F(Devices, PinnedMemoryIsReadWhenTheCopyRunsPageableWhenIssued) {
  float* x = device_floats();
  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, kCount * sizeof(float)), cudaSuccess);
  std::vector<float> pageable(kCount, 1.f);
  const cudaStream_t stream = new_stream();
  cudaMemcpyAsync(x, pageable.data(), kCount * sizeof(float), cudaMemcpyHostToDevice, stream);
  pageable[0] = 2;
  cudaStreamSynchronize(stream);
  EXPECT_EQ(read(x)[0], 1);
  pinned[0] = 1;
  cudaMemcpyAsync(x, pinned, kCount * sizeof(float), cudaMemcpyHostToDevice, stream);
  pinned[0] = 2;  // the fault: too early
  cudaStreamSynchronize(stream);
  EXPECT_EQ(read(x)[0], 2);
  cudaFreeHost(pinned);
  cudaFree(x);
  cudaStreamDestroy(stream);
}

TEST_F(Devices, HostTouchEndsWithTheAllocationsName) {
  float* x = device_floats();
  EXPECT_DEATH(x[2] = 1,
               "host code touched device memory: .* is byte 8 of device allocation #1 \\(256 bytes");
  launch_step(x, nullptr, 3, nullptr);
  EXPECT_DEATH(
      {
        cudaDeviceSynchronize();
        std::printf("%f", double(x[0]));
      },
      "host code touched device memory");
  cudaFree(x);
  std::vector<float> host(1);
  EXPECT_DEATH(
      {
        simt::launch(nullptr, shape("far"), nullptr, [y = device_floats()] { y[kCount + 64] = 1; });
        cudaDeviceSynchronize();
      },
      "'far' left its memory: .* is byte 512 of device allocation(.|\n)*far, block \\(0,0,0\\), thread \\(");
}

TEST_F(Devices, MemoryStartsAsNanAndIsGuardedOnBothSides) {
  for (const int offset : {-1, kCount - 1}) {
    float* x = device_floats(kCount - 1);
    for (const float value : read(x, kCount - 1)) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(simt::launch(nullptr, shape("near"), nullptr, [=] { x[offset] = 1; }), cudaSuccess);
    if (simt::sanitizer::kAddress) {  // which sees it at once
      EXPECT_DEATH(cudaDeviceSynchronize(), "AddressSanitizer: ");
      reset_devices();
      continue;
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    const std::string text = cudaGetErrorString(cudaErrorIllegalAddress);
    EXPECT_NE(text.find(offset < 0 ? "bytes before device allocation #1 of 252 bytes were overwritten"
                                   : "bytes after device allocation #1 of 252 bytes were overwritten"),
              std::string::npos)
        << text;
    reset_devices();
  }
}

TEST_F(Devices, CountsMemoryAndRunsOutOfIt) {
  reset_devices({.devices = 2, .capacity_bytes = 1000});
  void *x = nullptr, *y = nullptr;
  ASSERT_EQ(cudaMalloc(&x, 600), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&y, 401), cudaErrorMemoryAllocation);
  EXPECT_EQ(y, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not sticky";
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(total, 1000u);
  ASSERT_EQ(cudaMalloc(&y, 400), cudaSuccess);
  cudaFree(x);
  EXPECT_EQ(simt::memory_use(0).bytes, 400);
  EXPECT_EQ(simt::memory_use(0).peak_bytes, 1000);
  EXPECT_EQ(simt::memory_use(1).peak_bytes, 0);
  EXPECT_NE(reset_devices().find("of 400 bytes on device 0 was not freed"), std::string::npos);
}

TEST_F(Devices, AFailedKernelStopsEveryLaterCall) {
  float* x = device_floats();
  simt::launch(nullptr, shape("broken"), nullptr, [] { throw simt::Error("misuse of a barrier"); });
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("'broken' on the default stream"),
            std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure) << "sticky";
  EXPECT_EQ(cudaMemset(x, 0, 4), cudaErrorLaunchFailure);
  reset_devices();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Devices, RefusesWhatARealDeviceWouldRefuse) {
  reset_devices({.devices = 2});
  float* x = device_floats();
  std::vector<float> host(kCount + 1);
  const size_t bytes = kCount * sizeof(float);
  EXPECT_EQ(cudaMemcpy(x, host.data(), bytes + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x, host.data(), bytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), x, bytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(x, 8, host.data(), 16, 16, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(x, size_t(1) << 31, host.data(), 16, 16, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(x + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  const auto body = [] {};
  EXPECT_EQ(simt::launch(nullptr, shape("wide", 1025), nullptr, body), cudaErrorInvalidConfiguration);
  EXPECT_EQ(simt::launch(nullptr, shape("empty", 0), nullptr, body), cudaErrorInvalidConfiguration);
  EXPECT_EQ(simt::launch(&body, shape("greedy", 1, 50000), nullptr, body), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaFuncSetAttribute(&body, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000), cudaSuccess);
  EXPECT_EQ(simt::launch(&body, shape("greedy", 1, 50000), nullptr, body), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&body, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000),
            cudaErrorInvalidValue);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  cudaSetDevice(1);
  EXPECT_EQ(simt::launch(nullptr, shape("foreign"), stream, body), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  cudaSetDevice(0);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  cudaDeviceSynchronize();
  cudaFree(x);
  reset_devices({.driver_version = 11000});
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  reset_devices({.devices = 0});
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
}

TEST_F(Devices, EventsTellTimeAndPollingEnds) {
  float* x = device_floats();
  const cudaStream_t stream = new_stream();
  const cudaEvent_t begin = new_event(cudaEventDefault), end = new_event(cudaEventDefault);
  EXPECT_EQ(cudaEventQuery(end), cudaSuccess) << "never recorded";
  float milliseconds = -1;
  cudaEventRecord(begin, stream);
  launch_step(x, nullptr, 1, stream);
  cudaEventRecord(end, stream);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
  int polls = 0;
  while (cudaEventQuery(end) == cudaErrorNotReady && polls < 100) ++polls;
  EXPECT_GT(polls, 0);
  EXPECT_LT(polls, 100);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(read(x)[0], 1);
  for (cudaEvent_t event : {begin, end}) cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaFree(x);
}

TEST_F(Devices, DefaultStreamWaitsForBlockingStreamsAlone) {
  std::set<float> with_blocking, with_non_blocking;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const unsigned flags : {unsigned(cudaStreamDefault), unsigned(cudaStreamNonBlocking)}) {
      reset_devices({.seed = seed});
      float *x = device_floats(), *y = device_floats();
      const cudaStream_t stream = new_stream(flags);
      launch_step(x, nullptr, 1, stream);
      launch_step(y, x, 0, nullptr);
      (flags == cudaStreamDefault ? with_blocking : with_non_blocking).insert(read(y)[0] == 2 ? 2.f : 0.f);
      cudaStreamSynchronize(stream);
      for (float* memory : {x, y}) cudaFree(memory);
      cudaStreamDestroy(stream);
    }
  EXPECT_EQ(with_blocking, std::set<float>({2}));
  EXPECT_EQ(with_non_blocking, std::set<float>({0, 2}));
}

TEST_F(Devices, EveryThreadHasADeviceOfItsOwn) {
  constexpr int kDevices = 4;
  reset_devices({.devices = kDevices, .seed = 5});
  std::vector<float> results(kDevices);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kDevices; ++rank)
    threads.emplace_back([&results, rank] {
      cudaSetDevice(rank);
      float *x = device_floats(), *y = device_floats();
      const cudaStream_t stream = new_stream();
      for (int round = 0; round < 20; ++round) {
        launch_step(x, nullptr, float(rank), stream);
        launch_step(y, x, 0, stream);
      }
      cudaStreamSynchronize(stream);
      results[size_t(rank)] = read(y)[0];
      EXPECT_EQ(simt::memory_use(rank).allocations, 2);
      for (float* memory : {x, y}) cudaFree(memory);
      cudaStreamDestroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < kDevices; ++rank) EXPECT_EQ(results[size_t(rank)], float(rank + 1));
}

}  // namespace
