// Noised inputs and targets of flow matching, and the sampler's step: one pass over the tokens each.
// Shapes: T tokens, P features; patch in is (c, pt, ph, pw), patch out (pt, ph, pw, c).
#include <algorithm>
#include <cmath>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/segment_sums.h"
#include "model/ops/cpu/simd.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::for_lanes;
using simd::load;
using simd::store;

constexpr int64_t kFlowRows = 8;  // rows per task: noise makes a row expensive

/// x0 of one token in f32.
void read_token(float* x0, const Tensor& tokens, int64_t t, int64_t P) {
  if (!tokens.defined()) {
    std::fill_n(x0, P, 0.0f);
  } else if (tokens.dtype() == DType::kF32) {
    std::copy_n(tokens.row<float>(t), P, x0);
  } else {
    const uint8_t* pixels = tokens.row<uint8_t>(t);
    for (int64_t c = 0; c < P; ++c) x0[c] = float(pixels[c]) / 127.5f - 1.0f;
  }
}

/// to (pt, ph, pw, c) = from (c, pt, ph, pw).
void to_patch_out(float* to, const float* from, int64_t channels, int64_t P) {
  const int64_t volume = P / channels;
  for (int64_t i = 0; i < volume; ++i)
    for (int64_t c = 0; c < channels; ++c) to[i * channels + c] = from[c * volume + i];
}

}  // namespace

void CpuOps::flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                         std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const {
  checks::check_flow_inputs(Device::kCpu, features, target, tokens, rows, channels);
  const int64_t T = features.rows(), P = features.row_size();
  const ArenaScope scope(workspace_);
  const Tensor space = workspace_.take({pool_.num_threads(), 3 * P}, DType::kF32);
  dispatch(features.dtype(), [&]<class F>(F) {
    pool_.parallel_for_indexed((T + kFlowRows - 1) / kFlowRows, [&](int64_t task, int thread) {
      float *noise = space.row<float>(thread), *x0 = noise + P, *aim = x0 + P;
      for (int64_t t = task * kFlowRows; t < std::min(T, (task + 1) * kFlowRows); ++t) {
        const auto each = std::upper_bound(rows.begin(), rows.end(), t,
                                           [](int64_t row, const FlowRows& r) { return row < r.row_end; });
        RandomKey key = each->key;
        key.token += t - each->row_begin;
        fill_normal(key, noise, P);
        read_token(x0, tokens, t, P);
        const float keep = float(1 - each->sigma), sigma = float(each->sigma);
        F* to = features.row<F>(t);
        for_lanes(P, [&](int64_t i, int64_t n) {
          const simd::F16 x = load(x0 + i, n), e = load(noise + i, n);
          store(to + i, keep * x + sigma * e, n);
          store(aim + i, velocity_target ? e - x : x, n);
        });
        if (target.defined()) to_patch_out(target.row<float>(t), aim, channels, P);
      }
    });
  });
}

void CpuOps::flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                           int64_t channels, double divisor) const {
  checks::check_flow_velocity(Device::kCpu, velocity, x, prediction, channels);
  const int64_t T = x.rows(), P = x.row_size();
  const int64_t volume = P / channels;
  const float inverse = divisor > 0 ? float(1 / divisor) : 0.0f;
  for_rows(pool_, T, [&](int64_t t) {
    const float *from = prediction.row<float>(t), *at = x.row<float>(t);
    float* to = velocity.row<float>(t);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < volume; ++i) {
        const float predicted = from[i * channels + c];
        to[c * volume + i] = divisor > 0 ? (at[c * volume + i] - predicted) * inverse : predicted;
      }
  });
}

void CpuOps::guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional,
                         double guidance, double step) const {
  checks::check_guided_step(Device::kCpu, x, conditional, unconditional);
  const int64_t T = x.rows(), P = x.row_size();
  for_rows(pool_, T, [&](int64_t t) {
    float* to = x.row<float>(t);
    for_lanes(P, [&](int64_t i, int64_t n) {
      const simd::F16 u = load(unconditional.row<float>(t) + i, n),
                      c = load(conditional.row<float>(t) + i, n);
      store(to + i, load(to + i, n) + float(step) * (u + float(guidance) * (c - u)), n);
    });
  });
}

void CpuOps::add_row(const Tensor& y, const Tensor& x, const Tensor& row) const {
  checks::check_add_row(Device::kCpu, y, x, row);
  const int64_t S = x.rows(), N = x.row_size();
  for_rows(pool_, S, [&](int64_t s) {
    for_lanes(N, [&](int64_t i, int64_t n) {
      store(y.row<float>(s) + i, load(x.row<float>(s) + i, n) + load(row.data<float>() + i, n), n);
    });
  });
}

void CpuOps::add_row_backward(const Tensor& drow, const Tensor& dy) const {
  checks::check_add_row_backward(Device::kCpu, drow, dy);
  const int64_t S = dy.rows(), N = dy.row_size();
  sum_by_segment<1>(pool_, workspace_, S, N, nullptr, {drow.reshape({1, N})},
                    [&](int64_t s, int64_t, const std::array<float*, 1>& sums) {
                      for_lanes(N, [&](int64_t i, int64_t n) {
                        store(sums[0] + i, load(sums[0] + i, n) + load(dy.row<float>(s) + i, n), n);
                      });
                    });
}

}  // namespace zoetrope
