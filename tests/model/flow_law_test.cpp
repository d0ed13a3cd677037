// Flow matching and the whole network in double: gradients against differences, and law 1 on one rank: how samples
// are packed or split changes nothing but rounding.
#include "model/flow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/reference_ops.h"
#include "tests/support/small_model.h"

namespace zoetrope::test {
namespace {

constexpr Precision kDouble{DType::kF64, DType::kF64};

class FlowLaw : public testing::Test {
 protected:
  SmallModel make(const FlowConfig& flow, bool recompute = false) {
    ModelConfig config = small_model_config();
    config.recompute = recompute;
    return SmallModel(ops_, arena_, kDouble, config, flow);
  }
  const ReferenceOps ops_;
  Arena arena_{64 << 20, Device::kCpu, "flow test"};
};

// Odd grids, a one-token image, a shard from the middle of a longer sample would need its mates: whole samples.
const std::vector<SmallSegment> kSamples{{0, 0, 15, {3, 1, 5}}, {1, 0, 1, {1, 1, 1}}, {2, 0, 14, {1, 7, 2}}};

TEST_F(FlowLaw, GradientIsTheDerivativeOfTheLoss) {
  for (const char* prediction : {"sample", "velocity"}) {
    FlowConfig flow;
    flow.prediction = prediction;
    SmallModel model = make(flow);
    const MicroBatch batch = make_batch(kSamples, model.config);
    const int64_t count = loss_count(batch.num_tokens(), model.config);
    model.parameters.zero_grads();
    model.flow.loss_and_gradients(batch, count);
    const std::vector<double> gradient = model.gradients();
    double* values = model.parameters.values().data<double>();
    const auto loss_along = [&](const std::vector<double>& direction, double h) {
      for (size_t i = 0; i < direction.size(); ++i) values[i] += h * direction[i];
      model.parameters.prepare();
      model.parameters.zero_grads();
      const double loss = model.flow.loss_and_gradients(batch, count).sum / double(count);
      for (size_t i = 0; i < direction.size(); ++i) values[i] -= h * direction[i];
      return loss;
    };
    // Each parameter tensor by itself, so that a small one can't hide behind a large one.
    for (const Parameter& p : model.parameters.list()) {
      std::vector<double> direction(gradient.size(), 0.0);
      double expected = 0, norm = 0;
      for (int64_t i = p.offset; i < p.offset + p.size; ++i) norm += gradient[size_t(i)] * gradient[size_t(i)];
      norm = std::sqrt(norm);
      // The key bias shifts all scores of a query alike: its gradient is zero up to rounding.
      if (norm < 1e-12) { EXPECT_NE(p.name.find("attn.k.bias"), std::string::npos) << p.name; continue; }
      for (int64_t i = p.offset; i < p.offset + p.size; ++i) {
        direction[size_t(i)] = gradient[size_t(i)] / norm;
        expected += direction[size_t(i)] * gradient[size_t(i)];
      }
      const double h = 1e-5, found = (loss_along(direction, h) - loss_along(direction, -h)) / (2 * h);
      EXPECT_NEAR(found, expected, 1e-6 * expected + 1e-9) << p.name << ", " << prediction;
    }
  }
}

TEST_F(FlowLaw, PackingChangesNothing) {
  SmallModel model = make({});
  const int64_t count = 1000;
  model.parameters.zero_grads();
  const FlowLoss packed = model.flow.loss_and_gradients(make_batch(kSamples, model.config), count);
  const std::vector<double> together = model.gradients();
  model.parameters.zero_grads();
  double sum = 0;
  for (size_t i = kSamples.size(); i-- > 0;) {
    const FlowLoss one = model.flow.loss_and_gradients(make_batch({kSamples[i]}, model.config), count);
    EXPECT_NEAR(one.sum, packed.per_segment[i], 1e-12 * packed.sum);
    sum += one.sum;
  }
  EXPECT_NEAR(sum, packed.sum, 1e-12 * packed.sum);
  const std::vector<double> apart = model.gradients();
  double largest = 0;
  for (double g : together) largest = std::max(largest, std::abs(g));
  for (size_t i = 0; i < together.size(); ++i) EXPECT_NEAR(together[i], apart[i], 1e-12 * largest);
}

// Ranges of one sample on one rank are neighbours and attend to each other.
TEST_F(FlowLaw, RangesOfOneSampleEqualTheWhole) {
  SmallModel model = make({});
  const std::array<int64_t, 3> grid{3, 1, 5};
  model.parameters.zero_grads();
  const double whole = model.flow.loss_and_gradients(make_batch({{0, 0, 15, grid}}, model.config), 100).sum;
  const std::vector<double> expected = model.gradients();
  model.parameters.zero_grads();
  const FlowLoss parts = model.flow.loss_and_gradients(make_batch({{0, 0, 4, grid}, {0, 4, 5, grid}, {0, 5, 15, grid}}, model.config), 100);
  EXPECT_NEAR(parts.sum, whole, 1e-12 * whole);
  double largest = 0;
  for (double g : expected) largest = std::max(largest, std::abs(g));
  const std::vector<double> found = model.gradients();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12 * largest);
}

TEST_F(FlowLaw, AnEmptyMicroBatchIsLegal) {
  SmallModel model = make({});
  model.parameters.zero_grads();
  EXPECT_EQ(model.flow.loss_and_gradients(make_batch({}, model.config), 10).sum, 0);
  for (double g : model.gradients()) EXPECT_EQ(g, 0);
}

TEST_F(FlowLaw, RecomputeChangesNoBit) {
  SmallModel kept = make({}), again = make({}, true);
  const MicroBatch batch = make_batch(kSamples, kept.config);
  for (SmallModel* model : {&kept, &again}) {
    model->parameters.zero_grads();
    model->flow.loss_and_gradients(batch, 10);
  }
  EXPECT_EQ(kept.gradients(), again.gradients());
}

TEST_F(FlowLaw, BackwardFreesEverything) {
  SmallModel model = make({});
  const int64_t mark = arena_.mark();
  model.flow.loss_and_gradients(make_batch(kSamples, model.config), 10);
  EXPECT_EQ(arena_.mark(), mark);
}

TEST(Sigma, FollowsItsDistribution) {
  FlowConfig uniform_config, logit;
  uniform_config.timesteps = "uniform";
  uniform_config.shift = 3;
  logit.logit_mean = 0.5;
  constexpr int64_t kDraws = 20000;
  double mean = 0, below = 0;
  for (int64_t draw = 0; draw < kDraws; ++draw) {
    const double shifted = draw_sigma(uniform_config, 1, draw);
    ASSERT_TRUE(shifted > 0 && shifted < 1);
    mean += shifted / (3 - 2 * shifted);  // the inverse of s = 3 u / (1 + 2 u) is uniform
    below += draw_sigma(logit, 1, draw) < 1 / (1 + std::exp(-0.5));  // its median
  }
  EXPECT_NEAR(mean / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(below / kDraws, 0.5, 5 * std::sqrt(0.25 / kDraws));
  EXPECT_EQ(draw_sigma(logit, 1, 7), draw_sigma(logit, 1, 7));
  EXPECT_NE(draw_sigma(logit, 1, 7), draw_sigma(logit, 2, 7));
}

}  // namespace
}  // namespace zoetrope::test
