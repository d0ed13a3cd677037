// Activations, gated residual additions, conversions: one pass each. A thread owns a pack of elements
// (map.cuh); where column sums are wanted, a pack of columns of some rows (Note [Segment sums]).
//
// Napkin, bytes an element (compute type bf16), x and y of the residual stream f32:
//   activate                 x 2, y 2              4   20 FLOP, two of them at an eighth of the rate
//   activate_backward        dy 2, x 2, dx 2       6   26 FLOP, as above
//   gate_residual            x 4, branch 2, y 4   10    2 FLOP
//   gate_residual_backward   dy 4, branch 2, dbranch 2   8   3 FLOP
//   convert f32 to bf16      x 4, y 2              6
//   add                      y 4 + 4, x 4         12
//   column_sums              dy 2                  2
// Expected: 90 % of the copy bandwidth. For eight elements of an activation a multiprocessor takes 1.0 clock
// for exponentials and divisions, sixteen a clock, and 1.5 for memory (132 of them at 1.7 GHz, 4.8 TB/s).
#include <algorithm>

#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/column_sums.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/map.cuh"
#include "model/ops/cuda/segment_sums.h"
#include "model/ops/op_checks.h"

namespace zoetrope {
namespace cuda {
namespace {

// The tanh form of GELU is x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3); SiLU is x sigmoid(x).
constexpr float kTwoRootTwoOverPi = 1.5957691216057308f, kCubic = 0.044715f;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int kGateBlocks = 5;  // of 256 threads a multiprocessor: at most 48 registers
#else
constexpr int kGateBlocks = 6;  // at most 40 registers
#endif

/// The sigmoid behind an activation at x; beyond `kLargest` it is as good as 0 or 1.
template <Activation kActivation>
__device__ float rise(float x) {
  constexpr float kLargest = kActivation == Activation::kGelu ? 10.0f : 87.0f;
  const float c = fminf(fmaxf(x, -kLargest), kLargest);
  const float argument =
      kActivation == Activation::kGelu ? c * (kTwoRootTwoOverPi + kTwoRootTwoOverPi * kCubic * c * c) : c;
  return __fdividef(1.0f, 1.0f + __expf(-argument));
}

template <Activation kActivation>
struct Activated {
  __device__ float operator()(float x) const {
    if constexpr (kActivation == Activation::kNone) return x;
    else return x * rise<kActivation>(x);
  }
};

/// dy times d(x rise)/dx = rise + x d(argument)/dx rise (1 - rise).
template <Activation kActivation>
struct ActivatedBackward {
  __device__ float operator()(float dy, float x) const {
    if constexpr (kActivation == Activation::kNone) return dy;
    const float r = rise<kActivation>(x);
    float inner = x;
    if constexpr (kActivation == Activation::kGelu)
      inner = x * (kTwoRootTwoOverPi + 3 * kTwoRootTwoOverPi * kCubic * x * x);
    return dy * (r + inner * (r * (1.0f - r)));
  }
};

struct Same {
  __device__ float operator()(float x) const { return x; }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Times {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct Gated {
  __device__ float operator()(float x, float branch, float gate) const { return x + gate * branch; }
};

/// Calls run.operator()<activation>().
template <class Run>
void for_activation(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kNone: return run.template operator()<Activation::kNone>();
    case Activation::kGelu: return run.template operator()<Activation::kGelu>();
    case Activation::kSilu: return run.template operator()<Activation::kSilu>();
  }
}

/// dbranch = gate dy, and sums of branch dy by segment. A thread takes a pack of columns and walks over the
/// rows of its block. Note [One round of blocks]: at width 1536 there are 1024 blocks of 192 threads. With 40
/// registers a thread a multiprocessor runs eight of them, 36 KiB of loads under way, and an H200 all at
/// once; a second round of few blocks would leave most of the memory's rate unused. A B200 has room with 48.
template <int kN, class B>
__global__ void __launch_bounds__(kMapThreads, kN >= 4 ? kGateBlocks : 2)
    gate_residual_backward_kernel(Rows<B> dbranch, Rows<const float> dy, Rows<const B> branch,
                                  SegmentRows gate, SegmentSums<1> sums) {
  const int64_t c = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * kN;
  const int n = int(max(int64_t(0), min(int64_t(kN), sums.width - c)));
  for (int64_t begin = sums.first_row(), end = 0; begin < sums.end_row(); begin = end) {
    end = sums.run_end(begin);
    if (c == 0) sums.name_owner(begin, end);
    if (n == 0) continue;
    const auto factor = load<kN>(gate[begin] + c, n);
    Pack<kN> total{};
    const float* from = dy[begin] + c;
    const B* beside = branch[begin] + c;
    B* to = dbranch[begin] + c;
    for (int rows = int(end - begin); rows > 0; --rows) {
      const auto gradient = load<kN>(from, n), added = load<kN>(beside, n);
      for (int j = 0; j < kN; ++j) total[j] += added[j] * gradient[j];
      store(to, apply<kN>(Times{}, factor, gradient), n);
      from += dy.stride, beside += branch.stride, to += dbranch.stride;
    }
    sums.put(begin, end, 0, c, total);
  }
}

/// Sums of the rows of x. A thread takes a pack of columns and walks over the rows of its block.
template <int kN, class X>
__global__ void __launch_bounds__(kMapThreads) column_sums_kernel(Rows<const X> x, SegmentSums<1> sums) {
  const int64_t c = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * kN;
  const int64_t begin = sums.first_row(), end = sums.end_row();
  if (c == 0) sums.name_owner(begin, end);
  if (c >= sums.width) return;
  const int n = int(min(int64_t(kN), sums.width - c));
  Pack<kN> total{};
#pragma unroll 4
  for (int64_t t = begin; t < end; ++t) {
    const auto row = load<kN>(x[t] + c, n);
    for (int j = 0; j < kN; ++j) total[j] += row[j];
  }
  sums.put(begin, end, 0, c, total);
}

/// Row blocks times column tiles, a pack of kN columns a thread.
template <int kN>
LaunchShape column_shape(const SegmentSums<1>& sums, const char* name) {
  const int64_t tiles = ceil_div(sums.width, int64_t(kMapThreads) * kN);
  return {dim3(unsigned(sums.num_blocks), unsigned(tiles)),
          dim3(threads_for(ceil_div(sums.width, tiles), kN)), 0, name};
}

}  // namespace

void add_column_sums(Arena& workspace, const Tensor& sums, const Tensor& x, const Stream& stream) {
  const int64_t T = x.rows(), N = x.row_size();
  if (T == 0) return;
  const ArenaScope scope(workspace);
  const auto work = make_segment_sums<1>(workspace, T, N, Tensor(), {sums});
  dispatch(x.dtype(), [&]<class X>(X) {
    with_access<8>(on_vectors(x), [&]<int kN>() {
      launch(column_sums_kernel<kN, X>, column_shape<kN>(work, "column_sums"), queue_of(stream),
             rows_of<const X>(x), work);
    });
  });
  finish(work, 1, queue_of(stream));
}

}  // namespace cuda

using namespace cuda;

void CudaOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  for_activation(activation, [&]<Activation kActivation>() {
    map("activate", queue_of(stream_), Activated<kActivation>{}, y, x);
  });
}

void CudaOps::activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                Activation activation) const {
  for_activation(activation, [&]<Activation kActivation>() {
    map("activate_backward", queue_of(stream_), ActivatedBackward<kActivation>{}, dx, dy, x);
  });
}

void CudaOps::gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                            const Tensor& segment) const {
  checks::check_gate_residual(Device::kCuda, y, x, branch, gate, segment);
  const char* op = "gate_residual";
  const int64_t T = x.rows(), D = x.row_size();
  dispatch(branch.dtype(), [&]<class B>(B) {
    const auto Y = rows_of<float>(y);
    const auto X = rows_of<const float>(x);
    const auto added = rows_of<const B>(branch);
    if (gate.defined()) {
      run_map<4>(op, queue_of(stream_), T, D, on_vectors(y, x, branch, gate), Gated{}, Y, X, added,
                 segment_rows(gate, segment));
    } else {
      const MapShape shape = map_shape(op, y, x, branch);
      run_map<4>(op, queue_of(stream_), shape.rows, shape.width, shape.wide, Sum{}, Y, X, added);
    }
  });
}

void CudaOps::gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                     const Tensor& branch, const Tensor& gate, const Tensor& segment) const {
  const char* op = "gate_residual_backward";
  if (!gate.defined()) return convert(dbranch, dy);
  checks::check_gate_residual_backward(Device::kCuda, dbranch, dgate, dy, branch, gate, segment);
  const int64_t T = dy.rows(), D = dy.row_size();
  if (T == 0) return;
  const ArenaScope scope(workspace_);
  const auto sums = make_segment_sums<1>(workspace_, T, D, segment, {dgate});
  dispatch(branch.dtype(), [&]<class B>(B) {
    with_access<4>(on_vectors(dbranch, dy, branch, gate), [&]<int kN>() {
      launch(gate_residual_backward_kernel<kN, B>, column_shape<kN>(sums, op), queue_of(stream_),
             rows_of<B>(dbranch), rows_of<const float>(dy), rows_of<const B>(branch),
             segment_rows(gate, segment), sums);
    });
  });
  finish(sums, gate.rows(), queue_of(stream_));
}

void CudaOps::convert(const Tensor& y, const Tensor& x) const {
  map("convert", queue_of(stream_), Same{}, y, x);
}

void CudaOps::add(const Tensor& y, const Tensor& x) const {
  ZT_CHECK(y.dtype() == DType::kF32 && x.dtype() == DType::kF32, "add: y is ", y.shape_text(), ", x is ",
           x.shape_text(), ", expected f32");
  map_wide("add", queue_of(stream_), Sum{}, y, y, x);
}

void CudaOps::add_row(const Tensor& y, const Tensor& x, const Tensor& row) const {
  checks::check_add_row(Device::kCuda, y, x, row);
  const char* op = "add_row";
  const int64_t S = x.rows(), N = x.row_size();
  run_map<4>(op, queue_of(stream_), S, N, on_vectors(y, x, row), Sum{}, rows_of<float>(y),
             rows_of<const float>(x), segment_rows(row));
}

void CudaOps::add_row_backward(const Tensor& drow, const Tensor& dy) const {
  checks::check_add_row_backward(Device::kCuda, drow, dy);
  add_column_sums(workspace_, drow, dy, stream_);
}

}  // namespace zoetrope
