// The devices that tests of the CUDA backend run on. One header, two sources: emulated devices, where kernels
// and streams run on the CPU in an order that a seed draws (devices_emulated.cpp), or the machine's GPUs,
// which run in the one order they have: a test's orders are repeated runs there (devices_gpu.cpp).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zoetrope::test {

/// What a test wants. GPUs are as they are: with them only `count` may differ from the defaults.
struct DeviceWish {
  int count = 1;
  uint64_t order = 0;  ///< of streams and threads; 0: issue order. GPUs have no other.
  int64_t capacity_bytes = int64_t(8) << 30;
  int compute_major = 9, compute_minor = 0;
  int driver_version = 13000;
  int64_t nccl_connection_bytes = 4096;
};

/// What kernels have done since reset_kernel_work().
struct KernelWork {
  uint64_t matrix_products = 0;   ///< of warps (mma.sync)
  uint64_t group_products = 0;    ///< of warpgroups (wgmma)
  uint64_t tile_copies = 0;       ///< by the tensor memory accelerator
  uint64_t extra_wavefronts = 0;  ///< passes of shared-memory loads that bank conflicts cost
};

bool devices_are_emulated();
/// How many a test may have.
int most_devices();
/// Fresh devices, registered as Device::kCuda; the calling thread uses the first.
/// Throws: Error when there are fewer GPUs than wished for, or none.
void start_devices(const DeviceWish& wish = {});
/// The order in which the threads of kernels run from now on.
void set_thread_order(uint64_t order);
void reset_kernel_work();
/// Nothing on GPUs, which don't count.
std::optional<KernelWork> kernel_work();
/// Bytes of device memory as asked for. Nothing on GPUs, whose runtime takes memory of its own.
std::optional<int64_t> device_bytes_in_use(int device);

/// Those of `wanted` that the machine has devices for; prints "left out: ..." for the others.
std::vector<int> possible_device_counts(const std::vector<int>& wanted);

}  // namespace zoetrope::test

/// Skips the test on a machine with fewer devices.
#define ZT_NEEDS_DEVICES(n)                   \
  if (::zoetrope::test::most_devices() < (n)) \
  GTEST_SKIP() << "needs " << (n) << " GPUs, this machine has " << ::zoetrope::test::most_devices()

/// Skips the test on GPUs, saying why it can't run there.
#define ZT_NEEDS_EMULATION(why) \
  if (!::zoetrope::test::devices_are_emulated()) GTEST_SKIP() << why
