#include "model/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

TEST(LearningRate, WarmsUpAndFallsAsACosine) {
  OptimizerConfig config;
  config.steps = 110;
  config.warmup_steps = 10;
  config.learning_rate = 2;
  config.final_learning_rate = 1;
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 9), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 10), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 60), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 110), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 5000), 1);
}

// Three updates against the formulas in double: decoupled decay on matrices alone, clipping, growing EMA
// decay.
TEST(Optimizer, FollowsTheFormulas) {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  config.warmup_steps = 0;
  config.clip = 1;
  WholeModel model(WholeModel::Backend::kCpu, awkward_config(), {}, config);
  const int64_t n = model.parameters.count();
  float* values = model.parameters.values().data<float>();
  float* grads = model.parameters.grads().data<float>();
  copy(model.optimizer.ema(), model.parameters.values());
  std::vector<double> value(values, values + n), ema = value, first(size_t(n), 0.0), second(size_t(n), 0.0);
  for (int64_t step = 0; step < 3; ++step) {
    for (int64_t i = 0; i < n; ++i) grads[i] = 0.05f * normal({1, Purpose::kSampling, step, i});
    const double norm = model.optimizer.grad_norm();
    ASSERT_GT(norm, 1) << "clipping must be at work";
    const double rate = learning_rate_at(config, step),
                 decay = std::min(config.ema_decay, (2.0 + double(step)) / (11.0 + double(step)));
    for (const Parameter& p : model.parameters.list())
      for (int64_t j = p.offset; j < p.offset + p.size; ++j) {
        const size_t i = size_t(j);
        const double g = grads[j] / norm;
        first[i] = config.beta1 * first[i] + (1 - config.beta1) * g;
        second[i] = config.beta2 * second[i] + (1 - config.beta2) * g * g;
        const double m = first[i] / (1 - std::pow(config.beta1, double(step + 1))),
                     v = second[i] / (1 - std::pow(config.beta2, double(step + 1)));
        value[i] -= rate * (m / (std::sqrt(v) + config.epsilon) +
                            (p.shape.size() > 1 && p.name.find("modulation") == std::string::npos
                                 ? config.weight_decay
                                 : 0) *
                                value[i]);
        ema[i] = decay * ema[i] + (1 - decay) * value[i];
      }
    model.optimizer.step(step, norm);
    // An update moves a value by about `rate`: eight roundings of value and update, per step.
    for (int64_t i = 0; i < n; ++i) {
      const double bound = 8 * double(step + 1) * 0x1p-24 * (std::abs(value[size_t(i)]) + 16 * rate);
      ASSERT_NEAR(values[i], value[size_t(i)], bound) << "step " << step << ", element " << i;
      ASSERT_NEAR(model.optimizer.ema().data<float>()[i], ema[size_t(i)], 2 * bound);
    }
  }
}

}  // namespace
}  // namespace zoetrope::test
