#include "tools/gpu/attention_kernels.h"

#include "core/cuda_check.h"
#include "model/ops/cuda/attention.h"
#include "model/ops/cuda/attention_cudnn.h"

namespace zoetrope {
namespace {

cuda::Operand operand_of(const Tensor& x) {
  return x.defined() ? cuda::Operand{x.raw(), x.row_stride(), x.dtype()} : cuda::Operand{};
}

cuda::AttentionArgs args_of(const AttentionOperands& o, bool backward) {
  cuda::AttentionArgs args;
  args.q = operand_of(o.q), args.k = operand_of(o.k), args.v = operand_of(o.v);
  args.lse = o.lse.data<float>();
  args.num_heads = int(o.num_heads), args.head_width = int(o.q.row_size() / o.num_heads);
  args.scale = float(o.scale);
  if (!backward) {
    args.out = operand_of(o.out);
    return args;
  }
  args.dout = operand_of(o.dout);
  args.final_out = operand_of(o.out);
  args.dq = operand_of(o.dq), args.dk = operand_of(o.dk), args.dv = operand_of(o.dv);
  args.delta = o.delta.data<float>(), args.delta_stride = o.delta.row_stride();
  return args;
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  ZT_CUDA(cudaGetDevice(&device));
  ZT_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

cudaStream_t queue_of(const Ops& ops) { return static_cast<cudaStream_t>(ops.stream().handle()); }

std::string nothing() { return {}; }
std::string without_hopper() {
  const int major = attribute(cudaDevAttrComputeCapabilityMajor);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor);
  if (major == 9 && minor == 0) return {};
  return join_message("needs compute capability 9.0, this GPU has ", major, ".", minor);
}

void mma_forward(const Ops& ops, const AttentionOperands& o) {
  cuda::attention_tensor(args_of(o, false), o.items, queue_of(ops));
}
void mma_backward(const Ops& ops, const AttentionOperands& o) {
  cuda::attention_tensor_backward(args_of(o, true), o.items,
                                  attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), queue_of(ops));
}
void hopper_forward(const Ops& ops, const AttentionOperands& o) {
  cuda::attention_hopper(args_of(o, false), o.items, queue_of(ops));
}

void open_cudnn(const Ops& ops, Arena& workspace, AttentionOperands& o) {
  o.cudnn = std::make_shared<cuda::CudnnAttention>(workspace, false, queue_of(ops));
}
/// A line is of cuDNN alone, or there is none.
void expect_all(const std::vector<AttentionItem>& left) {
  ZT_REQUIRE(left.empty(), "cuDNN has no plan that adds in a fixed order for ", left.size(), " of the items");
}
void cudnn_forward(const Ops&, const AttentionOperands& o) {
  expect_all(o.cudnn->forward(args_of(o, false), o.items));
}
void cudnn_backward(const Ops&, const AttentionOperands& o) {
  expect_all(o.cudnn->backward(args_of(o, true), o.items));
}

}  // namespace

const std::vector<AttentionKernelLine>& attention_kernel_lines() {
  static const std::vector<AttentionKernelLine> lines{
      {"mma.sync", 0.40, 0.28, nothing, mma_forward, mma_backward},
      {"wgmma", 0.60, 0, without_hopper, hopper_forward, nullptr},
      {"cuDNN", 0.75, 0, nothing, cudnn_forward, cudnn_backward, open_cudnn},
  };
  return lines;
}

}  // namespace zoetrope
