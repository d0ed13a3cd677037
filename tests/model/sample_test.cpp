#include "model/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

using Backend = WholeModel::Backend;
const SampleSpec kClip{0, {2, 3, 5}, ""};

SampleRequest request_of(double guidance) {
  SampleRequest request;
  request.prompt = "a dog";
  request.steps = 5;
  request.guidance = guidance;
  request.shift = 2;
  request.seed = 9;
  return request;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const std::vector<double> x = to_doubles(a.reshape({a.size()})), y = to_doubles(b.reshape({b.size()}));
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

TEST(Sample, AnySplitIntoSegmentsGivesTheWhole) {
  WholeModel model(Backend::kReference, awkward_config());
  const Tensor whole =
      sample_tokens(model.flow, request_of(3), pack_whole({kClip}, model.config), model.config);
  const MicroBatch split = pack({{kClip, 0, 1}, {kClip, 1, 17}, {kClip, 17, 30}}, model.config);
  // Five steps of a bounded field in double: far below what a wrong position or noise would do.
  EXPECT_LE(largest_difference(whole, sample_tokens(model.flow, request_of(3), split, model.config)), 1e-10);
  SampleRequest other = request_of(3);
  other.seed = 10;
  EXPECT_GT(largest_difference(
                whole, sample_tokens(model.flow, other, pack_whole({kClip}, model.config), model.config)),
            1e-3);
  other = request_of(3);
  other.prompt = "a cat";
  EXPECT_GT(largest_difference(
                whole, sample_tokens(model.flow, other, pack_whole({kClip}, model.config), model.config)),
            1e-6);
}

TEST(Sample, IsTheSameEveryTime) {
  WholeModel model(Backend::kCpu, awkward_config());
  const MicroBatch batch = pack_whole({kClip}, model.config);
  const Tensor once = sample_tokens(model.flow, request_of(3), batch, model.config);
  EXPECT_EQ(largest_difference(once, sample_tokens(model.flow, request_of(3), batch, model.config)), 0);
}

TEST(Sample, EndsAtAConstantPredictionInPatchInOrder) {
  WholeModel model(Backend::kReference, awkward_config());
  fill_zero(model.parameters.value("head.head.weight"));
  double* bias = model.parameters.value("head.head.bias").data<double>();
  for (int64_t i = 0; i < model.config.out_features(); ++i) bias[i] = double(i);  // (ph, pw, c)
  const Tensor x = sample_tokens(model.flow, request_of(3), pack_whole({kClip}, model.config), model.config);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t place = 0; place < 4; ++place)
        EXPECT_NEAR(x.row<double>(t)[c * 4 + place], double(place * 3 + c), 1e-12);
}

TEST(Sample, GuidanceOfOneIsThePromptAlone) {
  WholeModel model(Backend::kReference, awkward_config());
  SampleRequest plain = request_of(1), almost = request_of(1);
  almost.guidance = std::nextafter(1.0, 2.0);
  almost.negative_prompt = "rain";
  const MicroBatch batch = pack_whole({kClip}, model.config);
  EXPECT_LE(largest_difference(sample_tokens(model.flow, plain, batch, model.config),
                               sample_tokens(model.flow, almost, batch, model.config)),
            1e-10);
}

}  // namespace
}  // namespace zoetrope::test
