// Layer norms, modulated per segment or with weight and bias. A block owns a row (forward) or some rows after
// one another (backward), which it holds in registers, eight elements a thread, or goes over again where it
// is wider than 1,024 threads hold; sums over the row go through block_sum. Statistics and sums in f32.
// Shapes: T rows, D width, S segments.
//
// Napkin, bytes an element (compute type bf16), of which the modulation's rows and the sums of segments are
// small:
//   forward   x 4, y 2                 6    9 FLOP   expected: 90 % of the copy bandwidth
//   backward  dx 4 + 4, dy 2, x 4     14   18 FLOP   expected: 85 %, a block's loads wait for its sums
// At 4.8 TB/s the forward does 7 TFLOP/s, a ninth of an H200's f32 rate: memory is what both wait for.
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

constexpr int kOwn = 8;  // elements of a row a thread: 32 bytes of f32 under way

struct NormShared {
  Partial<float, 1> total, squares;
};

/// y = (x - mean) rstd (offset + scale) + shift and the statistics of row blockIdx.x; offset is 1 for
/// modulation, 0 for an affine weight.
template <int kN, class Y>
__global__ void __launch_bounds__(kMaxRowThreads<kN>)
    layer_norm_kernel(Rows<Y> y, Rows<float> stats, Rows<const float> x, SegmentRows scale, SegmentRows shift,
                      float offset, int width, float eps) {
  using Row = RowPacks<kN, kOwn>;
  NormShared& shared = shared_memory<NormShared>();
  const int64_t t = blockIdx.x;
  Row row{};
  float total = 0, squares = 0;
  Row::for_each(width, [&](int k, int c, int n) {
    row[k] = load<kN>(x[t] + c, n);
    for (int j = 0; j < kN; ++j) total += row[k][j];
  });
  const float mean = block_sum(total, shared.total) / float(width);
  Row::for_each(width, [&](int k, int, int n) {
    for (int j = 0; j < kN; ++j)
      if (j < n) squares += (row[k][j] - mean) * (row[k][j] - mean);
  });
  const float rstd = 1.0f / sqrtf(block_sum(squares, shared.squares) / float(width) + eps);
  if (threadIdx.x == 0) {
    stats[t][0] = mean;
    stats[t][1] = rstd;
  }
  Row::for_each(width, [&](int k, int c, int n) {
    const auto factor = load<kN>(scale[t] + c, n), added = load<kN>(shift[t] + c, n);
    for (int j = 0; j < kN; ++j) row[k][j] = (row[k][j] - mean) * rstd * (factor[j] + offset) + added[j];
    store(y[t] + c, row[k], n);
  });
}

struct NormBackwardShared {
  Partial<float, 2> sums[2];  // of even and of odd rows
};                            // followed by the threads' OwnSums of dshift and of dscale

/// dx += rstd (g - mean(g) - xhat mean(g xhat)) with g = dy (offset + scale); sums of dy and of dy xhat by
/// segment.
template <int kN, class Dy>
__global__ void __launch_bounds__(kMaxRowThreads<kN>)
    layer_norm_backward_kernel(Rows<float> dx, Rows<const Dy> dy, Rows<const float> x,
                               Rows<const float> stats, SegmentRows scale, float offset,
                               SegmentSums<2> sums) {
  using Row = RowPacks<kN, kOwn>;
  NormBackwardShared& shared = shared_memory<NormBackwardShared>();
  const int width = int(sums.width);
  float* own = reinterpret_cast<float*>(&shared + 1);
  const OwnSums<kOwn> dshift(own), dscale(own + kOwn * blockDim.x);
  for (int64_t begin = sums.first_row(), end = 0; begin < sums.end_row(); begin = end) {
    end = sums.run_end(begin);
    if (threadIdx.x == 0) sums.name_owner(begin, end);
    dshift.clear();
    dscale.clear();
    for (int64_t t = begin; t < end; ++t) {
      const float mean = stats[t][0], rstd = stats[t][1];
      Row normal{}, g{};
      float totals[2] = {0, 0};  // of g, of g normal
      Row::for_each(width, [&](int k, int c, int n) {
        normal[k] = load<kN>(x[t] + c, n);
        g[k] = load<kN>(dy[t] + c, n);
        for (int j = 0; j < kN; ++j) normal[k][j] = (normal[k][j] - mean) * rstd;
      });
      dshift.add([&](int e) { return g.element(e); });
      dscale.add([&](int e) { return g.element(e) * normal.element(e); });
      Row::for_each(width, [&](int k, int c, int n) {
        const auto factor = load<kN>(scale[t] + c, n);
        for (int j = 0; j < kN; ++j) {
          g[k][j] *= factor[j] + offset;
          totals[0] += g[k][j];
          totals[1] += g[k][j] * normal[k][j];
        }
      });
      // The barrier inside also keeps row t + 2 from writing what a thread still reads of row t.
      block_sum(totals, shared.sums[t % 2]);
      const float of_mean = totals[0] / float(width), slope = totals[1] / float(width);
      Row::for_each(width, [&](int k, int c, int n) {
        auto gradient = load<kN>(dx[t] + c, n);
        for (int j = 0; j < kN; ++j) gradient[j] += rstd * ((g[k][j] - of_mean) - normal[k][j] * slope);
        store(dx[t] + c, gradient, n);
      });
    }
#pragma unroll 1
    for (int k = 0; k < Row::kPacks; ++k) {
      const int c = Row::column(k);
      if (c >= width) break;
      sums.put(begin, end, 0, c, dshift.template pack<kN>(k));
      sums.put(begin, end, 1, c, dscale.template pack<kN>(k));
    }
  }
}

/// As layer_norm_kernel, for rows that a block does not hold: three times over the row, which its caches
/// keep.
template <class Y>
__global__ void __launch_bounds__(kWideThreads)
    layer_norm_wide_kernel(Rows<Y> y, Rows<float> stats, Rows<const float> x, SegmentRows scale,
                           SegmentRows shift, float offset, int width, float eps) {
  NormShared& block = shared_memory<NormShared>();
  const int64_t t = blockIdx.x;
  const float* row = x[t];
  float total = 0, squares = 0;
#pragma unroll 4
  for (int c = int(threadIdx.x); c < width; c += kWideThreads) total += row[c];
  const float mean = block_sum(total, block.total) / float(width);
#pragma unroll 4
  for (int c = int(threadIdx.x); c < width; c += kWideThreads) squares += (row[c] - mean) * (row[c] - mean);
  const float rstd = 1.0f / sqrtf(block_sum(squares, block.squares) / float(width) + eps);
  if (threadIdx.x == 0) {
    stats[t][0] = mean;
    stats[t][1] = rstd;
  }
#pragma unroll 4
  for (int c = int(threadIdx.x); c < width; c += kWideThreads)
    y[t][c] = Y((row[c] - mean) * rstd * (scale[t][c] + offset) + shift[t][c]);
}

/// As layer_norm_backward_kernel: twice over the row, sums of segments where they go to at last. A thread has
/// the same columns in every row, so nobody else adds to its sums.
template <class Dy>
__global__ void __launch_bounds__(kWideThreads)
    layer_norm_backward_wide_kernel(Rows<float> dx, Rows<const Dy> dy, Rows<const float> x,
                                    Rows<const float> stats, SegmentRows scale, float offset,
                                    SegmentSums<2> sums) {
  NormBackwardShared& block = shared_memory<NormBackwardShared>();
  const int width = int(sums.width);
  for (int64_t begin = sums.first_row(), end = 0; begin < sums.end_row(); begin = end) {
    end = sums.run_end(begin);
    if (threadIdx.x == 0) sums.name_owner(begin, end);
    float* const dshift = sums.place(begin, end, 0, 0);
    float* const dscale = sums.place(begin, end, 1, 0);
    const float* const factor = scale[begin];
    for (int64_t t = begin; t < end; ++t) {
      const bool fresh = t == begin && sums.has_slot(begin, end);
      const float mean = stats[t][0], rstd = stats[t][1];
      const float* const from = x[t];
      const Dy* const gradient = dy[t];
      float totals[2] = {0, 0};  // of g, of g normal
#pragma unroll 1
      for (int c = int(threadIdx.x); c < width; c += kWideThreads) {
        const float normal = (from[c] - mean) * rstd, own = float(gradient[c]),
                    g = own * (factor[c] + offset);
        dshift[c] = (fresh ? 0.0f : dshift[c]) + own;
        dscale[c] = (fresh ? 0.0f : dscale[c]) + own * normal;
        totals[0] += g;
        totals[1] += g * normal;
      }
      // The barrier inside also keeps row t + 2 from writing what a thread still reads of row t.
      block_sum(totals, block.sums[t % 2]);
      const float of_mean = totals[0] / float(width), slope = totals[1] / float(width);
      float* const to = dx[t];
#pragma unroll 1
      for (int c = int(threadIdx.x); c < width; c += kWideThreads) {
        const float normal = (from[c] - mean) * rstd, g = float(gradient[c]) * (factor[c] + offset);
        to[c] += rstd * ((g - of_mean) - normal * slope);
      }
    }
  }
}

void run_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& scale, const Tensor& shift,
              const Tensor& segment, float offset, double eps, cudaStream_t stream) {
  const int64_t T = x.rows(), D = x.row_size();
  if (T == 0) return;
  const LaunchShape shape{dim3(unsigned(T)), dim3(threads_for(D, kOwn)), sizeof(NormShared), "layer_norm"},
      wide{shape.grid, dim3(kWideThreads), sizeof(NormShared), "layer_norm"};
  dispatch(y.dtype(), [&]<class Y>(Y) {
    with_access<8>(on_vectors(y, x, scale, shift), [&]<int kN>() {
      const bool held = D <= kMostHeld<kN, kOwn>;
      launch(held ? layer_norm_kernel<kN, Y> : layer_norm_wide_kernel<Y>, held ? shape : wide, stream,
             rows_of<Y>(y), rows_of<float>(stats), rows_of<const float>(x), segment_rows(scale, segment),
             segment_rows(shift, segment), offset, int(D), float(eps));
    });
  });
}

void run_norm_backward(Arena& workspace, const Tensor& dx, const std::array<Tensor, 2>& dshift_dscale,
                       const Tensor& dy, const Tensor& x, const Tensor& stats, const Tensor& scale,
                       const Tensor& segment, int64_t num_segments, float offset, cudaStream_t stream) {
  const int64_t T = x.rows(), D = x.row_size();
  if (T == 0) return;
  const ArenaScope scope(workspace);
  const auto sums = make_segment_sums<2>(workspace, T, D, segment, dshift_dscale);
  const unsigned threads = threads_for(D, kOwn);
  const LaunchShape shape{dim3(unsigned(sums.num_blocks)), dim3(threads),
                          sizeof(NormBackwardShared) + size_t(threads) * 2 * OwnSums<kOwn>::kBytesPerThread,
                          "layer_norm_backward"},
      wide{shape.grid, dim3(kWideThreads), sizeof(NormBackwardShared), "layer_norm_backward"};
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    with_access<8>(on_vectors(dx, dy, x, scale), [&]<int kN>() {
      const bool held = D <= kMostHeld<kN, kOwn>;
      launch(held ? layer_norm_backward_kernel<kN, Dy> : layer_norm_backward_wide_kernel<Dy>,
             held ? shape : wide, stream, rows_of<float>(dx), rows_of<const Dy>(dy), rows_of<const float>(x),
             rows_of<const float>(stats), segment_rows(scale, segment), offset, sums);
    });
  });
  finish(sums, num_segments, stream);
}

}  // namespace
}  // namespace cuda

using namespace cuda;

void CudaOps::layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                                  const Tensor& scale, const Tensor& segment, double eps) const {
  checks::check_layer_norm_modulate(Device::kCuda, y, stats, x, shift, scale, segment);
  run_norm(y, stats, x, scale, shift, segment, 1.0f, eps, queue_of(stream_));
}

void CudaOps::layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                           const Tensor& dy, const Tensor& x, const Tensor& stats,
                                           const Tensor& scale, const Tensor& segment) const {
  checks::check_layer_norm_modulate_backward(Device::kCuda, dx, dshift, dscale, dy, x, stats, scale, segment);
  const int64_t S = scale.rows();
  run_norm_backward(workspace_, dx, {dshift, dscale}, dy, x, stats, scale, segment, S, 1.0f,
                    queue_of(stream_));
}

void CudaOps::layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, double eps) const {
  checks::check_layer_norm(Device::kCuda, y, stats, x, weight, bias);
  run_norm(y, stats, x, weight, bias, Tensor(), 0.0f, eps, queue_of(stream_));
}

void CudaOps::layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                  const Tensor& dy, const Tensor& x, const Tensor& stats,
                                  const Tensor& weight) const {
  checks::check_layer_norm_backward(Device::kCuda, dx, dweight, dbias, dy, x, stats, weight);
  run_norm_backward(workspace_, dx, {dbias, dweight}, dy, x, stats, weight, Tensor(), 1, 0.0f,
                    queue_of(stream_));
}

}  // namespace zoetrope
