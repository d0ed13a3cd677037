// RMS norm over the whole row followed by the rotation of adjacent pairs within each head. A block owns a row
// (forward) or some rows after one another (backward), which it holds in registers, or goes over again where
// it is wider than they hold; sums over the row go through block_sum. Shapes: T rows, D = H K; the rotation
// table [T, K] holds (cos, sin) pairs interleaved.
//
// Napkin, bytes an element (compute type bf16), and 4 / H for the rotation table:
//   forward   x 2, y 2             4    7 FLOP   expected: 90 % of the copy bandwidth
//   backward  dx 2, dy 4, x 2      8   13 FLOP   expected: 85 %, a block's loads wait for its sums
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/row_packs.cuh"
#include "model/ops/cuda/segment_sums.h"
#include "model/ops/cuda/warp.cuh"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace cuda {
namespace {

constexpr int kForwardOwn = 16;  // elements of a row a thread: 32 bytes of bf16 under way
constexpr int kBackwardOwn = 8;  // 48 bytes of dy and x

/// (a, b) -> (a cos - b sin, a sin + b cos) for the pairs of a pack of column c; direction -1 turns back.
template <bool kRotated, int kN>
__device__ void rotate(Pack<kN>& pairs, const float* table, int c, int n, int head_width, float direction) {
  if constexpr (kRotated) {
    const auto turn = load<kN>(table + c % head_width, n);
#pragma unroll
    for (int j = 0; j < kN; j += 2) {
      const float a = pairs[j], b = pairs[j + 1], cosine = turn[j], sine = turn[j + 1] * direction;
      pairs[j] = a * cosine - b * sine;
      pairs[j + 1] = a * sine + b * cosine;
    }
  }
}

struct RmsShared {
  Partial<float, 1> squares;
};

/// Row blockIdx.x of y = RoPE(x / rms(x) * weight), and 1 / rms(x).
template <int kN, bool kRotated, class X>
__global__ void __launch_bounds__(kMaxRowThreads<kN>)
    rms_norm_rope_kernel(Rows<X> y, float* rstd, Rows<const X> x, const float* weight,
                         Rows<const float> rotation, int width, int head_width, float eps) {
  using Row = RowPacks<kN, kForwardOwn>;
  RmsShared& shared = shared_memory<RmsShared>();
  const int64_t t = blockIdx.x;
  Row row{};
  float squares = 0;
  Row::for_each(width, [&](int k, int c, int n) {
    row[k] = load<kN>(x[t] + c, n);
    for (int j = 0; j < kN; ++j) squares += row[k][j] * row[k][j];
  });
  const float r = 1.0f / sqrtf(block_sum(squares, shared.squares) / float(width) + eps);
  if (threadIdx.x == 0) rstd[t] = r;
  Row::for_each(width, [&](int k, int c, int n) {
    const auto factor = load<kN>(weight + c, n);
    for (int j = 0; j < kN; ++j) row[k][j] = row[k][j] * r * factor[j];
    rotate<kRotated>(row[k], rotation[t], c, n, head_width, 1.0f);
    store(y[t] + c, row[k], n);
  });
}

struct RmsBackwardShared {
  Partial<float, 1> projected[2];  // of even and of odd rows
};                                 // followed by the threads' OwnSums of dweight

/// dx = r (g weight - x slope) with g = dy turned back, slope = r mean(g x r weight); sums of g x r.
/// dx may be dy: a thread writes only what it alone has read before.
template <int kN, bool kRotated, class X>
__global__ void __launch_bounds__(kMaxRowThreads<kN>)
    rms_norm_rope_backward_kernel(Rows<X> dx, Rows<const float> dy, Rows<const X> x, const float* rstd,
                                  const float* weight, Rows<const float> rotation, int head_width,
                                  SegmentSums<1> sums) {
  using Row = RowPacks<kN, kBackwardOwn>;
  RmsBackwardShared& shared = shared_memory<RmsBackwardShared>();
  const OwnSums<kBackwardOwn> dweight(reinterpret_cast<float*>(&shared + 1));
  const int width = int(sums.width);
  const int64_t begin = sums.first_row(), end = sums.end_row();
  if (threadIdx.x == 0) sums.name_owner(begin, end);
  dweight.clear();
  for (int64_t t = begin; t < end; ++t) {
    const float r = rstd[t];
    Row g{}, row{};
    float projected = 0;
    Row::for_each(width, [&](int k, int c, int n) {
      g[k] = load<kN>(dy[t] + c, n);
      row[k] = load<kN>(x[t] + c, n);
      rotate<kRotated>(g[k], rotation[t], c, n, head_width, -1.0f);
    });
    dweight.add([&](int e) { return g.element(e) * (row.element(e) * r); });
    Row::for_each(width, [&](int k, int c, int n) {
      const auto factor = load<kN>(weight + c, n);
      for (int j = 0; j < kN; ++j) {
        g[k][j] *= factor[j];
        projected += g[k][j] * (row[k][j] * r);
      }
    });
    // The barrier inside also keeps row t + 2 from writing what a thread still reads of row t.
    const float slope = r * (block_sum(projected, shared.projected[t % 2]) / float(width));
    Row::for_each(width, [&](int k, int c, int n) {
      for (int j = 0; j < kN; ++j) g[k][j] = (g[k][j] - row[k][j] * slope) * r;
      store(dx[t] + c, g[k], n);
    });
  }
#pragma unroll 1
  for (int k = 0; k < Row::kPacks; ++k) {
    const int c = Row::column(k);
    if (c < width) sums.put(begin, end, 0, c, dweight.template pack<kN>(k));
  }
}

/// As rms_norm_rope_kernel, for rows that a block does not hold: twice over the row, a pair or an element at
/// a time.
template <bool kRotated, class X>
__global__ void __launch_bounds__(kWideThreads)
    rms_norm_rope_wide_kernel(Rows<X> y, float* rstd, Rows<const X> x, const float* weight,
                              Rows<const float> rotation, int width, int head_width, float eps) {
  constexpr int kEach = kRotated ? 2 : 1, kStep = kEach * kWideThreads;
  RmsShared& block = shared_memory<RmsShared>();
  const int64_t t = blockIdx.x;
  float squares = 0;
  for (int c = int(threadIdx.x); c < width; c += kWideThreads) squares += float(x[t][c]) * float(x[t][c]);
  const float r = 1.0f / sqrtf(block_sum(squares, block.squares) / float(width) + eps);
  if (threadIdx.x == 0) rstd[t] = r;
  for (int c = kEach * int(threadIdx.x); c < width; c += kStep) {
    auto row = load<kEach>(x[t] + c, kEach);
    for (int j = 0; j < kEach; ++j) row[j] = row[j] * r * weight[c + j];
    rotate<kRotated>(row, rotation[t], c, kEach, head_width, 1.0f);
    store(y[t] + c, row, kEach);
  }
}

/// As rms_norm_rope_backward_kernel: twice over the row, sums of columns where they go to at last. A thread
/// has the same columns in every row and both times.
template <bool kRotated, class X>
__global__ void __launch_bounds__(kWideThreads)
    rms_norm_rope_backward_wide_kernel(Rows<X> dx, Rows<const float> dy, Rows<const X> x, const float* rstd,
                                       const float* weight, Rows<const float> rotation, int head_width,
                                       SegmentSums<1> sums) {
  constexpr int kEach = kRotated ? 2 : 1, kStep = kEach * kWideThreads;
  RmsBackwardShared& block = shared_memory<RmsBackwardShared>();
  const int width = int(sums.width);
  const int64_t begin = sums.first_row(), end = sums.end_row();
  if (threadIdx.x == 0) sums.name_owner(begin, end);
  for (int64_t t = begin; t < end; ++t) {
    const float r = rstd[t];
    const auto turned_back = [&](int c) {
      auto g = load<kEach>(dy[t] + c, kEach);
      rotate<kRotated>(g, rotation[t], c, kEach, head_width, -1.0f);
      return g;
    };
    float projected = 0;
    for (int c = kEach * int(threadIdx.x); c < width; c += kStep) {
      const auto g = turned_back(c);
      for (int j = 0; j < kEach; ++j) {
        const float normal = float(x[t][c + j]) * r;
        float* dweight = sums.place(begin, end, 0, c + j);
        *dweight = (t == begin ? 0.0f : *dweight) + g[j] * normal;
        projected += g[j] * weight[c + j] * normal;
      }
    }
    // The barrier inside also keeps row t + 2 from writing what a thread still reads of row t.
    const float slope = r * (block_sum(projected, block.projected[t % 2]) / float(width));
    for (int c = kEach * int(threadIdx.x); c < width; c += kStep) {
      auto g = turned_back(c);
      for (int j = 0; j < kEach; ++j) g[j] = (g[j] * weight[c + j] - float(x[t][c + j]) * slope) * r;
      store(dx[t] + c, g, kEach);
    }
  }
}

/// Calls run.operator()<elements per access, rotated>(): packs hold whole pairs of one head.
template <class Run>
void with_rotation(const Tensor& rotation, int64_t head_width, bool on_vectors, const Run& run) {
  if (!rotation.defined())
    with_access<8>(on_vectors, [&]<int kN>() { run.template operator()<kN, false>(); });
  else
    with_access<8, 2>(on_vectors && head_width % 8 == 0,
                      [&]<int kN>() { run.template operator()<kN, true>(); });
}

Rows<const float> table_rows(const Tensor& rotation) {
  return rotation.defined() ? rows_of<const float>(rotation) : Rows<const float>{};
}

}  // namespace
}  // namespace cuda

using namespace cuda;

void CudaOps::rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                            const Tensor& rotation, int64_t num_heads, double eps) const {
  checks::check_rms_norm_rope(Device::kCuda, y, rstd, x, weight, rotation, num_heads);
  const char* op = "rms_norm_rope";
  const int64_t T = x.rows(), D = x.row_size();
  if (T == 0) return;
  const LaunchShape shape{dim3(unsigned(T)), dim3(threads_for(D, kForwardOwn)), sizeof(RmsShared), op},
      wide{shape.grid, dim3(kWideThreads), sizeof(RmsShared), op};
  dispatch(x.dtype(), [&]<class X>(X) {
    with_rotation(rotation, D / num_heads, on_vectors(y, x, weight, rotation), [&]<int kN, bool kRotated>() {
      const bool held = D <= kMostHeld<kN, kForwardOwn>;
      launch(held ? rms_norm_rope_kernel<kN, kRotated, X> : rms_norm_rope_wide_kernel<kRotated, X>,
             held ? shape : wide, queue_of(stream_), rows_of<X>(y), rstd.data<float>(), rows_of<const X>(x),
             weight.data<float>(), table_rows(rotation), int(D), int(D / num_heads), float(eps));
    });
  });
}

void CudaOps::rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                     const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                     const Tensor& rotation, int64_t num_heads) const {
  checks::check_rms_norm_rope_backward(Device::kCuda, dx, dweight, dy, x, rstd, weight, rotation, num_heads);
  const char* op = "rms_norm_rope_backward";
  const int64_t T = x.rows(), D = x.row_size();
  if (T == 0) return;
  const ArenaScope scope(workspace_);
  const auto sums = make_segment_sums<1>(workspace_, T, D, Tensor(), {dweight});
  const unsigned threads = threads_for(D, kBackwardOwn);
  const LaunchShape shape{
      dim3(unsigned(sums.num_blocks)), dim3(threads),
      sizeof(RmsBackwardShared) + size_t(threads) * OwnSums<kBackwardOwn>::kBytesPerThread, op},
      wide{shape.grid, dim3(kWideThreads), sizeof(RmsBackwardShared), op};
  dispatch(x.dtype(), [&]<class X>(X) {
    with_rotation(rotation, D / num_heads, on_vectors(dx, dy, x, weight, rotation),
                  [&]<int kN, bool kRotated>() {
                    const bool held = D <= kMostHeld<kN, kBackwardOwn>;
                    launch(held ? rms_norm_rope_backward_kernel<kN, kRotated, X>
                                : rms_norm_rope_backward_wide_kernel<kRotated, X>,
                           held ? shape : wide, queue_of(stream_), rows_of<X>(dx), rows_of<const float>(dy),
                           rows_of<const X>(x), rstd.data<float>(), weight.data<float>(),
                           table_rows(rotation), int(D / num_heads), sums);
                  });
  });
  finish(sums, 1, queue_of(stream_));
}

}  // namespace zoetrope
