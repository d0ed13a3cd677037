// The CUDA backend on the emulated device, in three orders of threads: in order, and two random ones.
#pragma once

#include <memory>

#include "core/arena.h"
#include "core/thread_pool.h"
#include "model/ops/cuda/register.h"
#include "tests/simt/devices.h"
#include "tests/simt/simt.h"
#include "tests/support/ops_under_test.h"

namespace zoetrope::test {

class CudaUnderTest final : public OpsUnderTest {
 public:
  /// `seed` draws the random orders.
  explicit CudaUnderTest(uint64_t seed = 1) : OpsUnderTest(kEvery), seed_(seed) {
    simt::reset_devices();
    register_cuda_backend();
    workspace_ = std::make_unique<Arena>(int64_t(64) << 20, Device::kCuda, "test");
    ops_ = make_ops(Device::kCuda, pool_, *workspace_);
  }
  Arena& workspace() const { return *workspace_; }

 private:
  void for_each_order(const std::function<void(const Ops&, const std::string&)>& f) const override {
    for (const uint64_t seed : {uint64_t(0), seed_, seed_ + 1}) {
      simt::set_order_seed(seed);
      f(*ops_, join_message("thread order ", seed));
    }
    simt::set_order_seed(0);
  }

  static constexpr int64_t kEvery = 11;  // tables combine 2, 3, 4, 5, 7 and 8 values

  uint64_t seed_;
  ThreadPool pool_{1};
  std::unique_ptr<Arena> workspace_;
  std::unique_ptr<Ops> ops_;
};

}  // namespace zoetrope::test
