#include <cstdio>

#include "core/check.h"
#include "core/device.h"
#include "model/ops/cuda/register.h"
#include "tests/cuda/devices.h"

namespace zoetrope::test {

bool devices_are_emulated() { return false; }
int most_devices() {
  register_cuda_backend();
  return device_count(Device::kCuda);
}

void start_devices(const DeviceWish& wish) {
  const DeviceWish as_they_are;
  ZT_CHECK(wish.capacity_bytes == as_they_are.capacity_bytes &&
               wish.compute_major == as_they_are.compute_major &&
               wish.driver_version == as_they_are.driver_version,
           "a GPU that is other than it is was asked for: the test needs ZT_NEEDS_EMULATION");
  const int there = most_devices();
  ZT_CHECK(wish.count <= there, "the test wants ", wish.count, " GPUs, there are ", there,
           ": it needs ZT_NEEDS_DEVICES");
  select_device(Device::kCuda, 0);
}

void set_thread_order(uint64_t) {}
void reset_kernel_work() {}
std::optional<KernelWork> kernel_work() { return {}; }
std::optional<int64_t> device_bytes_in_use(int) { return {}; }

std::vector<int> possible_device_counts(const std::vector<int>& wanted) {
  const int there = most_devices();
  std::vector<int> possible;
  for (const int count : wanted) {
    if (count <= there) possible.push_back(count);
    else std::printf("left out: %d ranks, this machine has GPUs: %d\n", count, there);
  }
  return possible;
}

}  // namespace zoetrope::test
