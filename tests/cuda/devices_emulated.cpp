#include "model/ops/cuda/register.h"
#include "tests/cuda/devices.h"
#include "tests/simt/devices.h"
#include "tests/simt/simt.h"

namespace zoetrope::test {

bool devices_are_emulated() { return true; }
int most_devices() { return 64; }

void start_devices(const DeviceWish& wish) {
  simt::DeviceOptions options;
  options.devices = wish.count;
  options.seed = wish.order;
  options.capacity_bytes = wish.capacity_bytes;
  options.compute_major = wish.compute_major;
  options.compute_minor = wish.compute_minor;
  options.driver_version = wish.driver_version;
  options.nccl_connection_bytes = wish.nccl_connection_bytes;
  simt::reset_devices(options);
  register_cuda_backend();
}

void set_thread_order(uint64_t order) { simt::set_order_seed(order); }
void reset_kernel_work() { simt::reset_stats(); }
std::optional<KernelWork> kernel_work() {
  const simt::Stats& stats = simt::stats();
  return KernelWork{stats.matrix_products, stats.group_products, stats.tile_copies, stats.extra_wavefronts};
}
std::optional<int64_t> device_bytes_in_use(int device) { return simt::memory_use(device).bytes; }

std::vector<int> possible_device_counts(const std::vector<int>& wanted) { return wanted; }

}  // namespace zoetrope::test
