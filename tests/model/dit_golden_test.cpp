// The network against numbers of the official implementation: output, mean squared error and gradients of a
// toy model whose tensors follow a closed formula. Source: notes on Wan in docs, golden numbers.
#include <gtest/gtest.h>

#include "model/params.h"
#include "tests/support/golden.h"
#include "tests/support/reference_ops.h"

namespace zoetrope {
namespace {

using test::expect_golden;
using test::Golden;
using test::golden_config;

TEST(DitGolden, ParametersAreThoseOfTheOriginal) {
  EXPECT_EQ(list_parameters(golden_config()).size(), 69u);
  ModelConfig wan;  // T2V-1.3B
  wan.width = 1536;
  wan.num_heads = 12;
  wan.num_layers = 30;
  wan.ffn = 8960;
  wan.text_width = 4096;
  wan.text_rows = 512;
  wan.in_channels = wan.out_channels = 16;
  wan.patch = {1, 2, 2};
  const std::vector<Parameter> list = list_parameters(wan);
  EXPECT_EQ(list.size(), 825u);
  EXPECT_EQ(list.back().offset + list.back().size, 1418996800);
}

TEST(DitGolden, DoubleReference) {
  const test::ReferenceOps ops;
  expect_golden(Golden(ops, {DType::kF64, DType::kF64}), 1e-8, 1e-8, 1e-8);
}

// PyTorch's own f32 gradients differ by up to 1.2e-5 of the norm.
TEST(DitGolden, CpuInSinglePrecision) {
  const ThreadPool pool(2);
  Arena workspace(64 << 20, Device::kCpu, "work space");
  const auto ops = make_ops(Device::kCpu, pool, workspace);
  expect_golden(Golden(*ops, {DType::kF32, DType::kF32}), 1e-6, 2.5e-5, 0);
}

TEST(DitGolden, RecomputeChangesNoBit) {
  const test::ReferenceOps ops;
  const Golden kept(ops, {DType::kF64, DType::kF64}), again(ops, {DType::kF64, DType::kF64}, true);
  EXPECT_EQ(kept.output, again.output);
  EXPECT_EQ(kept.grads, again.grads);
}

}  // namespace
}  // namespace zoetrope
