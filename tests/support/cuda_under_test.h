// The operators of the CUDA backend under test: on emulated devices in three orders of threads, in order and
// two random ones; on a GPU three times, where every run must give the same bits.
#pragma once

#include <memory>

#include "core/arena.h"
#include "core/thread_pool.h"
#include "tests/cuda/devices.h"
#include "tests/support/ops_under_test.h"

namespace zoetrope::test {

class CudaUnderTest final : public OpsUnderTest {
 public:
  /// `seed` draws the random orders.
  explicit CudaUnderTest(uint64_t seed = 1, const DeviceWish& device = {}, const OpsSettings& settings = {})
      : OpsUnderTest(devices_are_emulated() ? kEvery : 1), seed_(seed) {
    start_devices(device);
    workspace_ = std::make_unique<Arena>(int64_t(64) << 20, Device::kCuda, "test");
    ops_ = make_ops(Device::kCuda, pool_, *workspace_, settings);
  }
  Arena& workspace() const { return *workspace_; }

 private:
  void for_each_order(const std::function<void(const Ops&, const std::string&)>& f) const override {
    for (const uint64_t order : {uint64_t(0), seed_, seed_ + 1}) {
      set_thread_order(order);
      f(*ops_, join_message("thread order ", order));
    }
    set_thread_order(0);
  }

  static constexpr int64_t kEvery = 11;  // tables combine 2, 3, 4, 5, 7 and 8 values

  uint64_t seed_;
  ThreadPool pool_{1};
  std::unique_ptr<Arena> workspace_;
  std::unique_ptr<Ops> ops_;
};

}  // namespace zoetrope::test
