// Law 1 on one rank, in double: how samples are packed or split changes nothing but rounding.
// dit_gradient_test compares the gradients with differences.
#include "model/flow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

WholeModel make(bool recompute = false) {
  ModelConfig config = awkward_config();
  config.recompute = recompute;
  return WholeModel(WholeModel::Backend::kReference, config);
}

// Odd grids and a one-token image.
const std::vector<SampleSpec> kSamples{{0, {3, 1, 5}, "first"}, {1, {1, 1, 1}, "second"}, {2, {1, 7, 2}, ""}};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  double largest = 0;
  for (double g : expected) largest = std::max(largest, std::abs(g));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12 * largest);
}

TEST(FlowLaw, PackingChangesNothing) {
  WholeModel model = make();
  std::vector<MicroBatch> apart;
  for (size_t i = kSamples.size(); i-- > 0;) apart.push_back(pack_whole({kSamples[i]}, model.config));
  const MicroBatch together = pack_whole(kSamples, model.config);
  double packed = 0, single = 0;
  const std::vector<double> expected = model.gradients({together}, &packed);
  expect_near(model.gradients(apart, &single), expected);
  EXPECT_NEAR(single, packed, 1e-12 * packed);
  const FlowLoss whole = model.flow.loss_and_gradients(together, 1000);
  for (size_t i = 0; i < apart.size(); ++i)
    EXPECT_NEAR(model.flow.loss_and_gradients(apart[i], 1000).sum, whole.per_segment[apart.size() - 1 - i],
                1e-12 * whole.sum);
}

// Ranges of one sample on one rank are neighbours and attend to each other.
TEST(FlowLaw, RangesOfOneSampleEqualTheWhole) {
  WholeModel model = make();
  const SampleSpec& clip = kSamples[0];
  double whole = 0, parts = 0;
  const std::vector<double> expected = model.gradients({pack_whole({clip}, model.config)}, &whole);
  expect_near(model.gradients({pack({{clip, 0, 4}, {clip, 4, 5}, {clip, 5, 15}}, model.config)}, &parts),
              expected);
  EXPECT_NEAR(parts, whole, 1e-12 * whole);
}

TEST(FlowLaw, AnEmptyMicroBatchIsLegal) {
  WholeModel model = make();
  model.parameters.zero_grads();
  EXPECT_EQ(model.flow.loss_and_gradients(pack({}, model.config), 10).sum, 0);
  for (double g : to_doubles(model.parameters.grads())) EXPECT_EQ(g, 0);
}

TEST(FlowLaw, RecomputeChangesNoBit) {
  WholeModel kept = make(), again = make(true);
  const MicroBatch batch = pack_whole(kSamples, kept.config);
  EXPECT_EQ(kept.gradients({batch}), again.gradients({batch}));
}

TEST(FlowLaw, BackwardFreesEverything) {
  WholeModel model = make();
  const int64_t mark = model.arena.mark();
  model.gradients({pack_whole(kSamples, model.config)});
  EXPECT_EQ(model.arena.mark(), mark);
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
