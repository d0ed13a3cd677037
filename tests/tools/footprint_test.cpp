// Memory before training against numbers worked out by hand from the published sizes, and against the
// backend's own figures.
#include "tools/footprint.h"

#include <gtest/gtest.h>

#include "model/dit.h"
#include "tools/memory.h"

namespace zoetrope {
namespace {

TrainingShape training_of(const std::string& name) {
  TrainingShape training;
  training.network = find_network_shape(name);
  if (training.network.channels > 0) training.dit = dit_config(training.network);
  return training;
}

TEST(Footprint, ParametersAreThePublishedOnes) {
  EXPECT_EQ(parameter_counts(training_of("wan-14b")).total(40), 14'288'491'584);
  EXPECT_EQ(parameter_counts(training_of("wan-1.3b")).total(30), 1'418'996'800);
  EXPECT_EQ(parameter_counts(training_of("text-7b")).total(32), 6'738'415'616);
}

// D = 5120, F = 13824, 40 heads, bf16 products, f32 residual stream.
TEST(Footprint, Wan14bByHand) {
  TrainingShape training = training_of("wan-14b");
  const int64_t parameters = 14'288'491'584;
  const Footprint whole = footprints_of(training).at(0);
  EXPECT_EQ(whole.weights, 2 * parameters);
  EXPECT_EQ(whole.gradients, 4 * parameters);
  EXPECT_EQ(whole.optimizer, 12 * parameters);  // master weights, two moments
  EXPECT_EQ(whole.buffers, 0);
  // Outside the layers: features and gradient of 64 values in bf16, target and prediction in f32, two f32
  // and an id, rotation of 128, the last norm's two and its 5120 in bf16, the stream of 5120 in f32.
  const int64_t outside = 2 * 128 + 2 * 256 + 3 * 4 + 512 + 8 + 10240 + 20480;
  EXPECT_EQ(whole.activations.per_held_token, outside + 40 * 20480);
  // Of one layer: attention's output and log-sum-exp; 13 bf16 rows of D, 2 of F, 2 f32 rows of D, 9 and 40
  // f32; backward: the stream's gradient, 2 bf16 rows, Q, K, V's gradients in f32 and bf16, 40 row sums.
  const int64_t attention = 10240 + 160, rest = 13 * 10240 + 2 * 27648 + 2 * 20480 + 36 + 160;
  EXPECT_EQ(whole.activations.per_token, attention + rest + 20480 + 20480 + 92160 + 160);
  EXPECT_EQ(whole.buffers_per_cap_token, 6 * 5120 * 6 + 16 * 16);

  training.recompute = Recompute::kSelective;
  EXPECT_EQ(footprints_of(training).at(0).activations.per_held_token, outside + 40 * (20480 + attention));
  training.recompute = Recompute::kNone;
  EXPECT_EQ(footprints_of(training).at(0).activations.per_held_token,
            outside + 40 * (20480 + attention + rest));
  training.ema = true;
  EXPECT_EQ(footprints_of(training).at(0).optimizer, 16 * parameters);
}

TEST(Footprint, ShardingDividesWhatItNames) {
  TrainingShape training = training_of("wan-14b");
  const int64_t parameters = 14'288'491'584, block = parameter_counts(training).block;
  training.ranks = 64;
  const auto parts = [&](Sharding sharding) {
    training.sharding = sharding;
    const Footprint f = footprints_of(training).at(0);
    return std::vector<int64_t>{f.weights, f.gradients, f.optimizer, f.buffers};
  };
  const auto share = [](int64_t bytes) { return (bytes + 63) / 64; };
  EXPECT_EQ(parts(Sharding::kNone),
            (std::vector<int64_t>{2 * parameters, 4 * parameters, 12 * parameters, 0}));
  EXPECT_EQ(parts(Sharding::kOptimizer),
            (std::vector<int64_t>{2 * parameters, 4 * parameters, share(12 * parameters), 0}));
  EXPECT_EQ(parts(Sharding::kGradients), (std::vector<int64_t>{2 * parameters, share(4 * parameters),
                                                               share(12 * parameters), 2 * 4 * block}));
  EXPECT_EQ(parts(Sharding::kAll), (std::vector<int64_t>{share(2 * parameters), share(4 * parameters),
                                                         share(12 * parameters), 2 * 6 * block}));
}

TEST(Footprint, StagesShareLayersAndHoldWhatIsInFlight) {
  TrainingShape training = training_of("wan-14b");
  training.stages = 8;
  const ParameterCounts counts = parameter_counts(training);
  const std::vector<Footprint> stages = footprints_of(training);
  ASSERT_EQ(stages.size(), 8u);
  EXPECT_EQ(stages[0].weights, 2 * (5 * counts.block + counts.embeddings));
  EXPECT_EQ(stages[3].weights, 2 * 5 * counts.block);
  EXPECT_EQ(stages[7].weights, 2 * (5 * counts.block + counts.head));
  for (int64_t stage = 0; stage < 8; ++stage)
    EXPECT_EQ(stages[size_t(stage)].activations.in_flight, 8 - stage);
}

// FlexSP (arXiv:2412.01523) takes 4.71 MB per token for a 7 B model without recompute.
TEST(Footprint, SevenBillionParametersAreNearThePublishedBytesPerToken) {
  TrainingShape training = training_of("text-7b");
  training.recompute = Recompute::kNone;
  const int64_t bytes = footprints_of(training).at(0).activations.per_held_token;
  std::printf("text-7b, no recompute: %.3f MB per token, FlexSP 4.71: %+.1f %%\n", 1e-6 * double(bytes),
              100 * (1e-6 * double(bytes) / 4.71 - 1));
  EXPECT_EQ(bytes, 25112 + 32 * (16384 + 8192 + 128 + 123408));
}

// What is planned for the network of [model] is what the backend lays out, in both of its recompute modes.
TEST(Footprint, ActivationsAreThoseOfTheBackend) {
  for (const char* precision : {"f32", "bf16"})
    for (const bool recompute : {false, true}) {
      TrainingShape training;
      training.dit.recompute = recompute;
      training.network = network_shape_of(training.dit);
      training.precision = Precision::from_name(precision);
      training.recompute = recompute ? Recompute::kSelective : Recompute::kNone;
      const MemoryModel planned = footprints_of(training).at(0).activations;
      const ActivationBytes real = activation_bytes(training.dit, training.precision);
      EXPECT_EQ(planned.per_token + planned.per_held_token, real.per_token) << precision << recompute;
      EXPECT_EQ(planned.per_segment + planned.per_held_segment, real.per_segment) << precision << recompute;
    }
}

TEST(Footprint, OfARunAddsUpToItsMemoryModel) {
  TrainConfig config;
  const Workload workload{100, 300, 4, 768};
  const MemoryModel whole = memory_model_of(config, 2, workload, state_bytes_of(config));
  const Footprint parts = footprint_of_run(config, 2, workload);
  EXPECT_EQ(parts.memory().persistent, whole.persistent);
  EXPECT_EQ(peak_bytes(parts.memory(), {1, 77, 3}), peak_bytes(whole, {1, 77, 3}));
}

}  // namespace
}  // namespace zoetrope
