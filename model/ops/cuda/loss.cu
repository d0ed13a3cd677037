// The loss and the norm of the gradient: sums in double whose order depends on the sizes alone, the last one
// in a single block, and the host waits for the number.
//
// Napkin, bytes an element (dy in bf16):
//   squared_error   y 4, target 4, dy 2   10   4 FLOP, two of them in double
//   sum_squares     x 4                    4   2 FLOP in double, which an H200 does at half the f32 rate
// Expected: 85 % of the copy bandwidth for sum_squares over whole parameters; squared_error is small (a few
// MB) and bound by its launches and the wait.
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/cuda/warp.cuh"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace cuda {
namespace {

constexpr int kThreads = 256, kRowWarps = 8;
constexpr int64_t kMostPieces = 1024;  // 8 KiB of work space; some eight blocks for each processor

struct SumShared {
  Partial<double, 1> partial;
};

/// A warp owns a row: its sum of weight (y - target)^2 in double, and dy.
template <int kN, class Dy>
__global__ void __launch_bounds__(kRowWarps* kWarp)
    squared_error_kernel(Rows<Dy> dy, float* row_loss, double* sums, Rows<const float> y,
                         Rows<const float> target, const float* weight, double grad_scale, int64_t num_rows,
                         int64_t width) {
  const int64_t t = int64_t(blockIdx.x) * kRowWarps + warp_index();
  if (t >= num_rows) return;
  const float w = weight[t], factor = float(2.0 * double(w) * grad_scale);
  double total = 0;
  for (int64_t c = lane_index() * kN; c < width; c += kWarp * kN) {
    const int n = int(min(int64_t(kN), width - c));
    auto difference = load<kN>(y[t] + c, n);
    const auto aim = load<kN>(target[t] + c, n);
    for (int j = 0; j < kN; ++j) {
      difference[j] -= aim[j];
      total += double(difference[j]) * double(difference[j]);
      difference[j] *= factor;
    }
    store(dy[t] + c, difference, n);
  }
  total = double(w) * warp_sum(total);
  if (lane_index() != 0) return;
  sums[t] = total;
  row_loss[t] = float(total);
}

/// sums[blockIdx.x] = sum of squares of a piece of x; sums in several parts, so that additions overlap.
template <int kN>
__global__ void __launch_bounds__(kThreads)
    sum_squares_kernel(double* sums, const float* x, int64_t count, int64_t piece) {
  SumShared& shared = shared_memory<SumShared>();
  const int64_t begin = blockIdx.x * piece, end = min(count, begin + piece);
  double totals[4] = {0, 0, 0, 0};
  for (int64_t c = begin + int64_t(threadIdx.x) * kN; c < end; c += int64_t(blockDim.x) * kN) {
    const auto v = load<kN>(x + c, int(min(int64_t(kN), end - c)));
#pragma unroll
    for (int j = 0; j < kN; ++j) totals[j % 4] += double(v[j]) * double(v[j]);
  }
  const double total = block_sum((totals[0] + totals[1]) + (totals[2] + totals[3]), shared.partial);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/// *total = sum of `count` numbers, in one block.
__global__ void __launch_bounds__(kThreads) sum_kernel(double* total, const double* numbers, int64_t count) {
  SumShared& shared = shared_memory<SumShared>();
  double mine = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) mine += numbers[i];
  mine = block_sum(mine, shared.partial);
  if (threadIdx.x == 0) *total = mine;
}

/// The sum of `numbers` [count] goes to the number after them.
const double* sum_up(const Tensor& numbers, int64_t count, cudaStream_t stream) {
  double* data = numbers.data<double>();
  launch(sum_kernel, LaunchShape{dim3(1), dim3(kThreads), sizeof(SumShared), "sum"}, stream, data + count,
         data, count);
  return data + count;
}

}  // namespace
}  // namespace cuda

using namespace cuda;

double CudaOps::squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y, const Tensor& target,
                              const Tensor& weight, double grad_scale) const {
  checks::check_squared_error(Device::kCuda, dy, row_loss, y, target, weight);
  const char* op = "squared_error";
  const int64_t T = y.rows(), P = y.row_size();
  if (T == 0) return 0;
  const ArenaScope scope(workspace_);
  const Tensor sums = workspace_.take({T + 1}, DType::kF64);
  const LaunchShape shape{dim3(unsigned(ceil_div(T, kRowWarps))), dim3(kRowWarps * kWarp), 0, op};
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    with_access<8>(on_vectors(dy, y, target), [&]<int kN>() {
      launch(squared_error_kernel<kN, Dy>, shape, queue_of(stream_), rows_of<Dy>(dy), row_loss.data<float>(),
             sums.data<double>(), rows_of<const float>(y), rows_of<const float>(target), weight.data<float>(),
             grad_scale, T, P);
    });
  });
  return read(sum_up(sums, T, queue_of(stream_)));
}

double CudaOps::sum_squares(const Tensor& x) const {
  checks::check_sum_squares(Device::kCuda, x);
  const int64_t count = x.size();
  if (count == 0) return 0;
  constexpr int64_t kStep = kThreads * 8;  // pieces are whole steps of a block
  const int64_t piece = ceil_div(ceil_div(count, kMostPieces), kStep) * kStep,
                pieces = ceil_div(count, piece);
  const ArenaScope scope(workspace_);
  const Tensor sums = workspace_.take({pieces + 1}, DType::kF64);
  const LaunchShape shape{dim3(unsigned(pieces)), dim3(kThreads), sizeof(SumShared), "sum_squares"};
  with_access<8>(reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0, [&]<int kN>() {
    launch(sum_squares_kernel<kN>, shape, queue_of(stream_), sums.data<double>(), x.data<float>(), count,
           piece);
  });
  return read(sum_up(sums, pieces, queue_of(stream_)));
}

}  // namespace zoetrope
