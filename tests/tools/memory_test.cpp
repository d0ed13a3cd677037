#include "tools/memory.h"

#include <gtest/gtest.h>

#include "core/thread_pool.h"
#include "model/optimizer.h"

namespace zoetrope {
namespace {

TEST(Memory, StateBytesAreThoseOfTheRealThing) {
  for (const char* precision : {"f32", "bf16"})
    for (const double ema : {0.0, 0.999}) {
      TrainConfig config;
      config.numerics.precision = precision;
      config.optimisation.ema_decay = ema;
      const ThreadPool pool(1);
      Arena arena(0, Device::kCpu, "test");
      const std::unique_ptr<Ops> ops = make_ops(Device::kCpu, pool, arena);
      const Parameters parameters(config.model, Precision::from_name(precision), *ops);
      const Optimizer optimizer(config.optimisation, parameters, *ops);
      EXPECT_EQ(state_bytes_of(config), parameters.persistent_bytes() + optimizer.persistent_bytes())
          << precision << " " << ema;
    }
}

}  // namespace
}  // namespace zoetrope
