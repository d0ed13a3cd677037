// Attention's entry points: checks, the choice of a kernel, and delta.
//
// Napkin, bytes an element of T x D, operands in bf16; T H floats besides:
//   attention_delta   dout 2, out 2   4   2 FLOP   expected: 85 % of the copy bandwidth
#include "model/ops/cuda/attention.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include "core/log.h"
#include "model/ops/attention_checks.h"
#include "model/ops/cuda/attention_cudnn.h"
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/cuda_ops.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/cuda/warp.cuh"

namespace zoetrope {
namespace cuda {
namespace {

constexpr int kDeltaThreads = 128;

/// delta of one row and head by `lanes` lanes, a power of two; each lane takes packs of kN columns.
template <int kN, class G, class O>
__global__ void __launch_bounds__(kDeltaThreads)
    attention_delta_kernel(Rows<float> delta, Rows<const G> dout, Rows<const O> out, int64_t pairs,
                           int num_heads, int width, int lanes) {
  const int64_t pair = (int64_t(blockIdx.x) * kDeltaThreads + threadIdx.x) / lanes;
  const int lane = int(threadIdx.x) % lanes;
  const int64_t t = pair / num_heads, h = pair % num_heads;
  float sum = 0;
  if (pair < pairs)
    for (int c = lane * kN; c < width; c += lanes * kN) {
      const Pack<kN> a = load<kN>(dout[t] + h * width + c, width - c);
      const Pack<kN> b = load<kN>(out[t] + h * width + c, width - c);
#pragma unroll
      for (int j = 0; j < kN; ++j) sum = fmaf(a[j], b[j], sum);
    }
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  if (pair < pairs && lane == 0) delta[t][h] = sum;
}

int lanes_for(int64_t packs) {
  int lanes = 1;
  while (lanes < 32 && lanes < packs) lanes *= 2;
  return lanes;
}

Operand operand_of(const Tensor& x) { return {x.raw(), x.row_stride(), x.dtype()}; }

bool aligned(const Operand& x, int64_t bytes) {
  return !x.data || (reinterpret_cast<uintptr_t>(x.data) % uintptr_t(bytes) == 0 &&
                     x.stride * int64_t(size_of(x.dtype)) % bytes == 0);
}

const char* name_of(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kTensorCores: return "tensor cores by mma.sync";
    case AttentionKernel::kHopper: return "tensor cores by wgmma";
    case AttentionKernel::kPlain: break;
  }
  return "the plain kernels";
}

/// Logs a choice the first time it is made for a type and head width.
void log_choice(const AttentionArgs& args, const AttentionChoice& choice) {
  static std::mutex mutex;
  static std::set<std::tuple<AttentionKernel, std::string, DType, int>> said;
  const std::lock_guard lock(mutex);
  if (!said.insert({choice.kernel, choice.why, args.q.dtype, args.head_width}).second) return;
  log_info(join_message("attention on cuda: ", name_of(args.q.dtype), " heads of ", args.head_width,
                        " run on ", name_of(choice.kernel), ": ", choice.why));
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  ZT_CUDA(cudaGetDevice(&device));
  ZT_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

AttentionChoice chosen(const AttentionArgs& args) {
  const AttentionChoice choice = choose_attention(
      args, attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor));
  log_choice(args, choice);
  return choice;
}

}  // namespace

AttentionChoice choose_attention(const AttentionArgs& args, int capability) {
  if (args.q.dtype != DType::kBF16) return {AttentionKernel::kPlain, "tensor cores serve bf16"};
  if (args.head_width != 64 && args.head_width != 128)
    return {AttentionKernel::kPlain, "tensor cores serve heads of 64 and 128"};
  for (const Operand* x : {&args.q, &args.k, &args.v, &args.dout})
    if (!aligned(*x, 16)) return {AttentionKernel::kPlain, "tensor cores need operands' rows on 16 bytes"};
  for (const Operand* x : {&args.q, &args.k, &args.v, &args.dout})
    if (x->stride > kMostStride)
      return {AttentionKernel::kPlain, "tensor cores need rows at most 2^23 elements apart"};
  for (const Operand* x : {&args.out, &args.dq, &args.dk, &args.dv})
    if (!aligned(*x, 2 * int64_t(size_of(x->dtype))))
      return {AttentionKernel::kPlain, "tensor cores need outputs' rows on two elements"};
  constexpr int kHopper = 90;
  return {capability == kHopper && !args.dout.data ? AttentionKernel::kHopper : AttentionKernel::kTensorCores,
          "bf16, width and alignment fit"};
}

}  // namespace cuda

using namespace cuda;

void CudaOps::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                        const Tensor& v, std::span<const AttentionItem> items, int64_t num_heads,
                        double scale, bool accumulate) const {
  const char* op = "attention";
  const int64_t K = checks::check_attention(op, q, k, v, lse, items, num_heads, scale);
  check_matrix(op, "out", out, q.rows(), q.row_size());
  checks::check_attention_out(op, out, q, accumulate);
  for (const auto& [name, x] : {std::pair("q", &q), {"k", &k}, {"v", &v}, {"lse", &lse}})
    check_device(op, name, *x);
  AttentionArgs args;
  args.out = operand_of(out), args.q = operand_of(q), args.k = operand_of(k), args.v = operand_of(v);
  args.lse = lse.data<float>();
  args.num_heads = int(num_heads), args.head_width = int(K);
  args.scale = float(scale), args.accumulate = accumulate;
  std::vector<AttentionItem> left;
  if (cudnn_) {
    left = cudnn_->forward(args, items);
    if (left.empty()) return;
    items = left;
  }
  switch (chosen(args).kernel) {
    case AttentionKernel::kHopper: return attention_hopper(args, items, queue_of(stream_));
    case AttentionKernel::kTensorCores: return attention_tensor(args, items, queue_of(stream_));
    case AttentionKernel::kPlain: return attention_plain(args, items, queue_of(stream_));
  }
}

void CudaOps::attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                              int64_t num_heads) const {
  const char* op = "attention_delta";
  const int64_t T = out.rows(), D = out.row_size();
  check_matrix(op, "out", out, T, D);
  check_matrix(op, "dout", dout, T, D);
  checks::check_heads(op, D, num_heads);
  check_wide(op, "delta", delta, T, num_heads);
  const int64_t K = D / num_heads, pairs = T * num_heads;
  if (pairs == 0) return;
  const bool wide = on_vectors(dout, out) && K % 8 == 0;
  dispatch(dout.dtype(), [&]<class G>(G) {
    dispatch(out.dtype(), [&]<class O>(O) {
      with_access<8>(wide, [&]<int kN>() {
        const int lanes = lanes_for(ceil_div(K, kN));
        launch(attention_delta_kernel<kN, G, O>,
               {dim3(unsigned(ceil_div(pairs * lanes, kDeltaThreads))), dim3(kDeltaThreads), 0,
                "attention_delta"},
               queue_of(stream_), rows_of<float>(delta), rows_of<const G>(dout), rows_of<const O>(out), pairs,
               int(num_heads), int(K), lanes);
      });
    });
  });
}

void CudaOps::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                 const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Tensor& lse, const Tensor& delta, std::span<const AttentionItem> items,
                                 int64_t num_heads, double scale) const {
  const char* op = "attention_backward";
  const int64_t K = checks::check_attention(op, q, k, v, lse, items, num_heads, scale);
  check_wide(op, "dq", dq, q.rows(), q.row_size());
  check_wide(op, "dk", dk, k.rows(), q.row_size());
  check_wide(op, "dv", dv, k.rows(), q.row_size());
  check_matrix(op, "dout", dout, q.rows(), q.row_size());
  check_same_type(op, "dout", dout, q);
  check_matrix(op, "out", out, q.rows(), q.row_size());
  checks::check_attention_out(op, out, q, false);
  check_wide(op, "delta", delta, q.rows(), num_heads);
  for (const auto& [name, x] : {std::pair("q", &q), {"k", &k}, {"v", &v}, {"lse", &lse}})
    check_device(op, name, *x);
  AttentionArgs args;
  args.q = operand_of(q), args.k = operand_of(k), args.v = operand_of(v), args.dout = operand_of(dout);
  args.dq = operand_of(dq), args.dk = operand_of(dk), args.dv = operand_of(dv);
  args.lse = lse.data<float>(), args.delta = delta.data<float>(), args.delta_stride = delta.row_stride();
  args.num_heads = int(num_heads), args.head_width = int(K), args.scale = float(scale);
  args.final_out = operand_of(out);
  std::vector<AttentionItem> left;
  if (cudnn_) {
    left = cudnn_->backward(args, items);
    if (left.empty()) return;
    items = left;
  }
  if (chosen(args).kernel == AttentionKernel::kTensorCores)
    attention_tensor_backward(args, items, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                              queue_of(stream_));
  else attention_plain_backward(args, items, queue_of(stream_));
}

}  // namespace zoetrope
