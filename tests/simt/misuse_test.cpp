// Every misuse of CUDA that the emulator knows ends the kernel with an error that says who did what where.
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/ptx.cuh"

namespace zoetrope::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

/// What the error of a kernel says; "" and a failure when there is none.
std::string error_of(const simt::LaunchShape& shape, const std::function<void()>& body, uint64_t seed = 0) {
  try {
    simt::run(shape, body, seed);
  } catch (const simt::Error& error) { return error.what(); }
  ADD_FAILURE() << "no error with seed " << seed;
  return "";
}

simt::LaunchShape shape(dim3 block, size_t shared = 0) { return {2, block, shared, "bad_kernel"}; }

/// The body fails in order and in a random order, with each of the parts in its text.
void expect_error(const simt::LaunchShape& shape, const std::function<void()>& body,
                  const std::vector<std::string>& parts) {
  for (uint64_t seed : {0, 1, 2}) {
    const std::string text = error_of(shape, body, seed);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos)
          << "seed " << seed << ": no \"" << part << "\" in: " << text;
  }
}

int lane() { return int(threadIdx.x) % 32; }

TEST(SimtMisuse, ExitWhileOthersWaitAtABarrier) {
  const auto body = [] {
    if (threadIdx.x != 70) __syncthreads();
  };
  expect_error(shape(96), body, {"bad_kernel, block (", "(warp ", "misuse_test.cpp:", "__syncthreads"});
  const std::string text = error_of(shape(96), body);
  EXPECT_NE(text.find("thread (70,0,0) (warp 2, lane 6)"), std::string::npos) << text;
  EXPECT_NE(text.find("exits while others of the block wait for it"), std::string::npos) << text;
  EXPECT_NE(text.find("warp 0: lanes 0-31"), std::string::npos) << text;
}

TEST(SimtMisuse, BarrierAfterAnExit) {
  const auto body = [] {
    if (threadIdx.x == 0) return;
    __syncthreads();
  };
  const std::string text = error_of(shape(64), body);
  EXPECT_NE(text.find("__syncthreads waits for all threads of the block, of which some have exited"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("warp 0, lane 0: exited"), std::string::npos) << text;
}

TEST(SimtMisuse, DifferentBarriersMeet) {
  expect_error(shape(64),
               [] {
                 if (threadIdx.x < 32) __syncthreads();
                 else __syncthreads();
               },
               {"meets a different barrier", "__syncthreads (misuse_test.cpp:"});
  const auto counts = [] { barrier_sync(1, threadIdx.x < 32 ? 64 : 32); };
  EXPECT_NE(error_of(shape(64), counts).find("bar.sync of 32 threads meets a different barrier of 64"),
            std::string::npos);
}

TEST(SimtMisuse, BadNamedBarriers) {
  expect_error(shape(64), [] { barrier_sync(16, 64); }, {"bar.sync of barrier 16, ids are 0 to 15"});
  expect_error(shape(64), [] { barrier_sync(1, 40); },
               {"bar.sync of 40 threads: not a positive multiple of 32"});
  expect_error(shape(64), [] { barrier_arrive(1, 96); },
               {"bar.arrive of 96 threads", "within the block's 64"});
}

TEST(SimtMisuse, WarpOperationsMeet) {
  expect_error(shape(32),
               [] {
                 if (lane() < 16) __shfl_sync(kAllLanes, 1, 0);
                 else __syncwarp();
               },
               {" meets ", "with mask 0xffffffff", "of the warp wait"});
  expect_error(shape(32),
               [] {
                 if (lane() < 16) __syncwarp();
                 else __syncwarp();
               },
               {"__syncwarp with mask 0xffffffff meets __syncwarp"});
  expect_error(shape(32), [] { __syncwarp(lane() < 16 ? 0x0000ffffu : kAllLanes); }, {"__syncwarp", "exit"});
}

TEST(SimtMisuse, Masks) {
  expect_error(shape(32),
               [] {
                 if (lane() == 31) __syncwarp(0x7fffffffu);
               },
               {"the mask 0x7fffffff leaves out the caller's own lane"});
  expect_error(shape(16), [] { __syncwarp(); }, {"names lanes that the block does not have: lanes 16-31"});
  const std::string text = error_of(shape(32), [] {
    if (lane() < 2) return;
    __ballot_sync(kAllLanes, 1);
  });
  EXPECT_NE(text.find("__ballot_sync: the mask 0xffffffff names lanes that have exited: lanes 0-1"),
            std::string::npos)
      << text;
  const std::string late = error_of(shape(32), [] {
    if (lane() == 31) return;
    __any_sync(kAllLanes, 1);
  });
  EXPECT_NE(late.find("lane 31), misuse_test.cpp:"), std::string::npos) << late;
  EXPECT_NE(late.find("exits while lanes 0-30 of its warp wait for it at __any_sync"), std::string::npos)
      << late;
}

TEST(SimtMisuse, ShufflesOfLanesThatTakeNoPart) {
  expect_error(shape(32),
               [] {
                 if (lane() < 16) __shfl_sync(0x0000ffffu, 1, 20);
               },
               {"reads lane 20, which takes no part: the mask names lanes 0-15"});
  expect_error(shape(32), [] { __shfl_sync(kAllLanes, 1, 0, 12); }, {"of width 12, not a power of two"});
}

TEST(SimtMisuse, DeadlockWithACensus) {
  expect_error(shape(64),
               [] {
                 if (threadIdx.x < 32) barrier_sync(1, 64);
                 else barrier_sync(2, 64);
               },
               {"deadlock: no thread of the block can go on",
                "warp 0, lanes 0-31: at bar.sync (misuse_test.cpp:", "warp 1, lanes 0-31: at bar.sync"});
  // Half a warp in a barrier of the block, the other half in one of the warp.
  expect_error(shape(32),
               [] {
                 if (lane() < 16) barrier_sync(1, 32);
                 else __syncwarp();
               },
               {"deadlock", "lanes 0-15: at bar.sync", "lanes 16-31: at __syncwarp"});
}

TEST(SimtMisuse, Livelock) {
  std::vector<int> flag(1, 0);
  expect_error(shape(64),
               [&] {
                 if (threadIdx.x < 3)
                   while (*static_cast<volatile int*>(flag.data()) == 0) __nanosleep(20);
               },
               {"livelock: threads have looped", "lanes 0-2: can run, last at a loop that waits",
                "warp 1, lanes 0-31: exited"});
}

TEST(SimtMisuse, AsyncCopies) {
  struct alignas(16) Shared {
    float x[8];
  };
  alignas(16) static float source[8] = {};
  const auto address = [] { return shared_address(&shared_memory<Shared>()); };
  const simt::LaunchShape one = shape(1, sizeof(Shared));
  expect_error(one, [&] { cp_async_16(address(), source), cp_async_commit(); },
               {"exits before it has waited for 1 of its cp.async"});
  expect_error(one, [&] { cp_async_16(address(), source), cp_async_wait<0>(); },
               {"exits before it has waited"});
  expect_error(one, [&] { cp_async_16(address() + 4, source); },
               {"cp.async: shared address 4 is not a multiple of 16"});
  expect_error(one, [&] { cp_async_16(address(), source + 1); },
               {"cp.async: source 4 bytes past a multiple of 16"});
  expect_error(one, [&] { cp_async_16(address() + 32, source); },
               {"cp.async: 16 bytes at offset 32 of 32 bytes of dynamic shared memory"});
  expect_error(one, [&] { cp_async_16_partial(address(), source, 17); }, {"cp.async of 17 bytes"});
}

TEST(SimtMisuse, MatrixLoads) {
  uint32_t value = 0;
  const auto load = [&](uint32_t address) {
    return [&value, address] { ldmatrix_x1(value, address + 16 * (lane() % 8)); };
  };
  expect_error(shape(32, 128), load(8), {"ldmatrix.x1: shared address ", "is not a multiple of 16"});
  expect_error(shape(32, 128), load(16), {"ldmatrix.x1: 16 bytes at offset 128 of 128 bytes"});
  expect_error(shape(24, 128), load(0), {"names lanes that the block does not have"});
}

TEST(SimtMisuse, SharedMemory) {
  struct Big {
    char bytes[100];
  };
  expect_error(shape(1, 99), [] { shared_memory<Big>().bytes[0] = 0; },
               {"takes 100 of 99 bytes of dynamic shared memory"});
  expect_error(shape(1, 100),
               [] {
                 int on_stack = 0;
                 shared_address(&on_stack);
               },
               {"not to shared memory"});
#if !defined(__SANITIZE_ADDRESS__)  // reports it first
  EXPECT_NE(error_of(shape(1, 100), [] { shared_memory<Big>().bytes[threadIdx.x + 103] = 0; })
                .find("wrote at offset 103 of 100 bytes of dynamic shared memory"),
            std::string::npos);
#endif
}

TEST(SimtMisuse, Trap) {
  expect_error(shape(32),
               [] {
                 if (lane() == 9) __trap();
               },
               {"lane 9), misuse_test.cpp:", "__trap()"});
}

TEST(SimtMisuse, Launches) {
  const auto nothing = [] {};
  expect_error(shape(1025), nothing, {"bad_kernel: block of (1025,1,1) threads"});
  expect_error(shape(dim3(32, 33, 1)), nothing, {"block of (32,33,1) threads"});
  expect_error(shape(dim3(1, 1, 65)), nothing, {"at most 64 in z"});
  expect_error(shape(0), nothing, {"block of (0,1,1)"});
  expect_error({dim3(0), 32}, nothing, {"grid of (0,1,1)"});
  expect_error({dim3(1, 65536), 32}, nothing, {"grid of (1,65536,1)"});
  expect_error(shape(32, 48 * 1024 + 1), nothing, {"cudaFuncSetAttribute"});
  expect_error(shape(32, 227 * 1024 + 1), nothing, {"at most 232448"});
}

TEST(SimtMisuse, ExceptionsOfTheBodyReachTheCaller) {
  EXPECT_THROW(simt::run(
                   shape(64),
                   [] {
                     if (threadIdx.x == 40) throw std::out_of_range("of the body");
                   },
                   0),
               std::out_of_range);
  // And the next kernel runs as if nothing had happened.
  int count = 0;
  simt::run(
      shape(64), [&] { __syncthreads(), atomicAdd(&count, 1); }, 0);
  EXPECT_EQ(count, 128);
}

}  // namespace
}  // namespace zoetrope::cuda
