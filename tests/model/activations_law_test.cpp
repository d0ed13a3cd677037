// The memory model's figures against what a micro-batch really takes from the arena.
#include "model/activations.h"

#include <gtest/gtest.h>

#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

std::vector<SampleSpec> samples_of(int64_t count, int64_t first_tokens) {
  std::vector<SampleSpec> samples;
  for (int64_t i = 0; i < count; ++i)
    samples.push_back({i, {1, 1, i == 0 ? first_tokens : 1 + i}, "a b c d"});
  return samples;
}

void check(WholeModel::Backend backend, Precision precision, const ModelConfig& config) {
  WholeModel model(backend, config, {}, {}, precision);
  const ActivationBytes bytes = activation_bytes(config, model.precision);
  for (const auto& [segments, first] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 257}, {2, 33}, {31, 2}, {9, 500}}) {
    const MicroBatch batch = pack_whole(samples_of(segments, first), config);
    model.arena.reset_high_water();
    model.gradients({batch});
    const int64_t found = model.arena.high_water_bytes(),
                  model_bytes = bytes.of(batch.num_tokens(), segments);
    EXPECT_LE(found, model_bytes) << segments << " segments, " << batch.num_tokens() << " tokens";
    EXPECT_GE(found, model_bytes - bytes.fixed)
        << segments << " segments, " << batch.num_tokens() << " tokens";
    model.arena.reset_high_water();
    model.flow.loss_at(batch, 0.5);
    EXPECT_LE(model.arena.high_water_bytes(), model_bytes) << "without backward";
    EXPECT_EQ(model.arena.mark(), 0);
  }
}

std::vector<ModelConfig> configs() {
  ModelConfig wide_mlp = awkward_config(), wide_patch = awkward_config(), long_text = awkward_config();
  wide_mlp.ffn = 257;
  wide_patch.patch = {2, 8, 8};
  long_text.text_rows = 33;
  long_text.num_layers = 1;
  return {awkward_config(), wide_mlp, wide_patch, long_text};
}

TEST(Activations, ModelEqualsTheArenasHighWaterMark) {
  for (ModelConfig config : configs())
    for (const bool recompute : {false, true}) {
      config.recompute = recompute;
      SCOPED_TRACE(
          join_message("ffn ", config.ffn, " text rows ", config.text_rows, " recompute ", recompute));
      check(WholeModel::Backend::kReference, {}, config);
      check(WholeModel::Backend::kCpu, Precision::from_name("f32"), config);
      check(WholeModel::Backend::kCpu, Precision::from_name("bf16"), config);
    }
}

TEST(Activations, EmptyMicroBatchRunsTheHooksAndTakesNoTokens) {
  struct Counter : ParameterSource {
    int acquired = 0, released = 0;
    void acquire(Unit, Phase) override { ++acquired; }
    void release(Unit, Phase) override { ++released; }
  } counter;
  ParallelHooks hooks;
  hooks.parameters = &counter;
  WholeModel model(WholeModel::Backend::kCpu, awkward_config(), {}, {}, {}, hooks);
  const FlowLoss loss = model.flow.loss_and_gradients(pack({}, model.config), 10);
  EXPECT_EQ(loss.sum, 0);
  const int units = 3 + 2 + 1;
  EXPECT_EQ(counter.acquired, 2 * units);
  EXPECT_EQ(counter.released, counter.acquired);
}

}  // namespace
}  // namespace zoetrope::test
