// The hand-written backward against central differences in double: whole network, flow loss included, several
// segments of awkward sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

using Backend = WholeModel::Backend;

std::vector<MicroBatch> two_waves(const ModelConfig& config) {
  return {
      pack_whole(
          {{0, {1, 1, 1}, "a red ball"}, {1, {3, 2, 5}, ""}, {2, {1, 3, 1}, "rain on a street, at night"}},
          config),
      pack_whole({{3, {2, 1, 2}, "a dog"}}, config)};
}

double loss_of(WholeModel& model, const std::vector<MicroBatch>& waves) {
  double loss = 0;
  model.gradients(waves, &loss);
  return loss;
}

/// Derivative of the loss along a random direction within [begin, end) of the parameters, by central
/// differences at h and h / 2, extrapolated.
double difference_along(WholeModel& model, const std::vector<MicroBatch>& waves,
                        const std::vector<double>& direction, int64_t begin) {
  double* values = model.parameters.values().data<double>();
  const auto at = [&](double h) {
    for (size_t i = 0; i < direction.size(); ++i) values[begin + int64_t(i)] += h * direction[i];
    const double loss = loss_of(model, waves);
    for (size_t i = 0; i < direction.size(); ++i) values[begin + int64_t(i)] -= h * direction[i];
    return loss;
  };
  constexpr double h = 1e-5;
  const double wide = (at(2 * h) - at(-2 * h)) / (4 * h), narrow = (at(h) - at(-h)) / (2 * h);
  return narrow + (narrow - wide) / 3;
}

void check_directions(const FlowConfig& flow, bool recompute, uint64_t seed) {
  ModelConfig config = awkward_config();
  config.recompute = recompute;
  WholeModel model(Backend::kReference, config, flow);
  // Every parameter off its initial value: biases and norm weights too.
  double* values = model.parameters.values().data<double>();
  for (int64_t i = 0; i < model.parameters.count(); ++i)
    values[i] += 0.2 * double(normal({seed, Purpose::kInitialisation, 1, 0}, i));
  const std::vector<MicroBatch> waves = two_waves(config);
  double loss = 0;
  const std::vector<double> gradient = model.gradients(waves, &loss);
  for (const Parameter& p : model.parameters.list()) {
    std::vector<double> direction;
    double expected = 0, mass = 0;
    for (int64_t i = 0; i < p.size; ++i) {
      direction.push_back(double(normal({seed, Purpose::kHeldOut, p.offset, 0}, i)));
      expected += direction.back() * gradient[size_t(p.offset + i)];
      mass += std::abs(direction.back() * gradient[size_t(p.offset + i)]);
    }
    const double found = difference_along(model, waves, direction, p.offset);
    // 1e-6 of the derivative; where its terms cancel, of their sum; and what a double loss leaves at h =
    // 1e-5.
    const double bound = 1e-6 * std::max(std::abs(expected), 0.1 * mass) + 64 * 0x1p-53 * loss / 1e-5;
    EXPECT_NEAR(found, expected, bound) << p.name << ", seed " << seed;
  }
}

TEST(DitGradient, SamplePrediction) { check_directions({}, false, 1); }

TEST(DitGradient, VelocityPredictionUniformShifted) {
  FlowConfig flow;
  flow.prediction = "velocity";
  flow.timesteps = "uniform";
  flow.shift = 3;
  flow.caption_dropout = 0.5;
  check_directions(flow, true, 2);
}

TEST(DitGradient, CheckSeesAPlantedError) {
  WholeModel model(Backend::kReference, awkward_config());
  const std::vector<MicroBatch> waves = two_waves(model.config);
  const std::vector<double> gradient = model.gradients(waves);
  const Tensor bias = model.parameters.value("head.head.bias");
  const std::vector<double> direction(size_t(bias.size()), 1.0);
  const int64_t begin = bias.data<double>() - model.parameters.values().data<double>();
  double expected = 0;
  for (size_t i = 0; i < direction.size(); ++i) expected += gradient[size_t(begin) + i];
  const double found = difference_along(model, waves, direction, begin);
  EXPECT_NEAR(found, expected, 1e-6 * std::abs(expected) + 1e-9);
  EXPECT_GT(std::abs(found - 1.001 * expected), 1e-6 * std::abs(expected) + 1e-9);
}

}  // namespace
}  // namespace zoetrope::test
