// Noised inputs and targets of flow matching, and the sampler's step: one pass over the tokens each.
// Shapes: T tokens, P features; patch in is (c, pt, ph, pw), patch out (pt, ph, pw, c).
//
// Napkin, bytes an element:
//   flow_inputs   tokens 1, features 2, target 4   7   some 60 instructions for a normal number
// With tokens of f32 10. It waits for the instructions; a step's tokens are a few MB, 1e-4 of the step. The
// sampler's steps read 8 to 12 and write 4.
#include <algorithm>

#include "core/box_muller.h"
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/map.cuh"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = 4;  // channels that share four random words
/// Segments of one launch; they travel as a kernel parameter, of 4 KiB at most.
constexpr int kMostRows = 64;

struct FlowBatch {
  FlowRows rows[kMostRows];  // rows of the whole call; the last one ends the batch
  int count;

  /// The segment of row t.
  __device__ const FlowRows& at(int64_t t) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (t < rows[middle].row_end) high = middle;
      else low = middle + 1;
    }
    return rows[low];
  }
};
static_assert(sizeof(FlowBatch) <= 3700, "kernel parameters are 4 KiB at most, with the other ones");

/// Standard normal numbers of four consecutive channels: `normal(key, 4 group + j)`.
__device__ Pack<kGroup> normal_group(const RandomKey& key, int64_t group) {
  const auto words = key.words(group);
  Pack<kGroup> z;
#pragma unroll
  for (int pair = 0; pair < kGroup; pair += 2) {
    const float radius = sqrtf(-2.0f * natural_log(to_uniform(words[size_t(pair)])));
    float cosine, sine;
    cos_sin_turn(to_uniform(words[size_t(pair) + 1]), cosine, sine);
    z[pair] = radius * cosine;
    z[pair + 1] = radius * sine;
  }
  return z;
}

/// Elements [c, c + n) of a row of clean tokens as f32.
__device__ Pack<kGroup> clean(const float* row, int c, int n) {
  Pack<kGroup> x0{};
  for (int j = 0; j < n; ++j) x0[j] = row[c + j];
  return x0;
}
__device__ Pack<kGroup> clean(const uint8_t* row, int c, int n) {
  Pack<kGroup> x0{};
  for (int j = 0; j < n; ++j) x0[j] = float(row[c + j]) / 127.5f - 1.0f;
  return x0;
}

/// A thread owns four elements of a row: features = (1 - sigma) x0 + sigma eps, and the target, whose
/// elements change places. Rows of the batch start at `first_row`, `groups` threads to a row.
template <class F, class Token>
__global__ void __launch_bounds__(kThreads)
    flow_inputs_kernel(const __grid_constant__ FlowBatch batch, Rows<F> features, Rows<float> target,
                       Rows<const Token> tokens, int64_t first_row, int64_t groups, int width, int channels,
                       bool velocity_target) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t t = first_row + i / groups;
  if (t >= batch.rows[batch.count - 1].row_end) return;
  const int group = int(i % groups), c = group * kGroup, n = min(kGroup, width - c);
  const FlowRows& segment = batch.at(t);
  RandomKey key = segment.key;
  key.token += t - segment.row_begin;
  const Pack<kGroup> noise = normal_group(key, group);
  const Pack<kGroup> x0 = tokens.data ? clean(tokens[t], c, n) : Pack<kGroup>{};
  const float keep = float(1 - segment.sigma), sigma = float(segment.sigma);
  const int volume = width / channels;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    if (j >= n) break;
    features[t][c + j] = F(keep * x0[j] + sigma * noise[j]);
    const int channel = (c + j) / volume, place = (c + j) % volume;
    if (target.data) target[t][place * channels + channel] = velocity_target ? noise[j] - x0[j] : x0[j];
  }
}

/// A thread owns an element, patch in: velocity = prediction, or (x - prediction) / divisor.
__global__ void __launch_bounds__(kThreads)
    flow_velocity_kernel(Rows<float> velocity, Rows<const float> x, Rows<const float> prediction,
                         int64_t num_rows, int width, int channels, float inverse) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, t = i / width;
  if (t >= num_rows) return;
  const int c = int(i % width), volume = width / channels;
  const float predicted = prediction[t][c % volume * channels + c / volume];
  velocity[t][c] = inverse > 0 ? (x[t][c] - predicted) * inverse : predicted;
}

struct GuidedStep {
  float guidance, step;
  __device__ float operator()(float x, float conditional, float unconditional) const {
    return x + step * (unconditional + guidance * (conditional - unconditional));
  }
};

}  // namespace
}  // namespace cuda

using namespace cuda;

void CudaOps::flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                          std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const {
  checks::check_flow_inputs(Device::kCuda, features, target, tokens, rows, channels);
  const char* op = "flow_inputs";
  const int64_t P = features.row_size();
  const bool bytes = tokens.defined() && tokens.dtype() == DType::kU8;
  const auto targets = target.defined() ? rows_of<float>(target) : Rows<float>{};
  const int64_t groups = ceil_div(P, kGroup);
  const auto run = [&]<class F, class Token>(F, Rows<const Token> from) {
    for (size_t first = 0; first < rows.size(); first += kMostRows) {
      FlowBatch batch;
      batch.count = int(std::min<size_t>(kMostRows, rows.size() - first));
      std::copy_n(rows.begin() + std::ptrdiff_t(first), batch.count, batch.rows);
      const int64_t begin = batch.rows[0].row_begin, count = batch.rows[batch.count - 1].row_end - begin;
      if (count == 0) continue;
      const LaunchShape shape{dim3(unsigned(ceil_div(count * groups, kThreads))), dim3(kThreads), 0, op};
      launch(flow_inputs_kernel<F, Token>, shape, queue_of(stream_), batch, rows_of<F>(features), targets,
             from, begin, groups, int(P), int(channels), velocity_target);
    }
  };
  dispatch(features.dtype(), [&]<class F>(F type) {
    if (bytes) run(type, rows_of<const uint8_t>(tokens));
    else run(type, tokens.defined() ? rows_of<const float>(tokens) : Rows<const float>{});
  });
}

void CudaOps::flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                            int64_t channels, double divisor) const {
  checks::check_flow_velocity(Device::kCuda, velocity, x, prediction, channels);
  const char* op = "flow_velocity";
  const int64_t T = x.rows(), P = x.row_size();
  if (T == 0) return;
  const LaunchShape shape{dim3(unsigned(ceil_div(T * P, kThreads))), dim3(kThreads), 0, op};
  launch(flow_velocity_kernel, shape, queue_of(stream_), rows_of<float>(velocity), rows_of<const float>(x),
         rows_of<const float>(prediction), T, int(P), int(channels), divisor > 0 ? float(1 / divisor) : 0.0f);
}

void CudaOps::guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional,
                          double guidance, double step) const {
  checks::check_guided_step(Device::kCuda, x, conditional, unconditional);
  const char* op = "guided_step";
  map_wide(op, queue_of(stream_), GuidedStep{float(guidance), float(step)}, x, x, conditional, unconditional);
}

}  // namespace zoetrope
