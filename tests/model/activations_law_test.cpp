// The memory model: what the arena really holds at its peak is what `activation_bytes` says, up to the padding
// that its fixed part allows for.
#include <gtest/gtest.h>

#include "model/dit.h"
#include "tests/support/small_model.h"

namespace zoetrope::test {
namespace {

TEST(ActivationsLaw, PeakIsWhatTheMemoryModelSays) {
  const ThreadPool pool(1);
  for (const DType compute : {DType::kF32, DType::kBF16})
    for (const bool recompute : {false, true})
      for (const int64_t tokens : {1, 7, 64, 333})
        for (const int64_t segments : {1, 3}) {
          if (segments > tokens) continue;
          ModelConfig config = small_model_config();
          config.recompute = recompute;
          const Precision precision{compute, DType::kF32};
          const int64_t workspace_bytes = ops_workspace_bytes(Device::kCpu, 1, tokens, config.width, config.ffn, config.head_width(), compute);
          Arena workspace(workspace_bytes, Device::kCpu, "work space");
          const auto ops = make_ops(Device::kCpu, pool, workspace);
          const ActivationBytes model_bytes = activation_bytes(config, precision);
          Arena arena(model_bytes.of(tokens, segments), Device::kCpu, "activations");  // exceeding it throws
          SmallModel model(*ops, arena, precision, config, {});
          std::vector<SmallSegment> parts;
          for (int64_t s = 0; s < segments; ++s) {
            const int64_t length = tokens / segments + (s < tokens % segments ? 1 : 0);
            parts.push_back({s, 0, length, {length, 1, 1}});
          }
          model.parameters.zero_grads();
          ASSERT_NO_THROW(model.flow.loss_and_gradients(make_batch(parts, config), 10)) << name_of(compute) << " " << tokens;
          EXPECT_LE(arena.high_water_bytes(), model_bytes.of(tokens, segments));
          EXPECT_GE(arena.high_water_bytes(), model_bytes.of(tokens, segments) - model_bytes.fixed)
              << name_of(compute) << ", recompute " << recompute << ", " << tokens << " tokens, " << segments << " segments";
        }
}

}  // namespace
}  // namespace zoetrope::test
