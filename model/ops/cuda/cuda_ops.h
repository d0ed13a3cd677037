// The CUDA backend of the operator interface: cuBLASLt products (matmul.cu), own kernels for the rest, all on
// the device's main stream. Ops return at once; only those that return a value wait. No float atomics:
// results don't depend on the order of threads.
#pragma once

#include <memory>

#include "model/ops/ops.h"

namespace zoetrope {

namespace cuda {
class CudnnAttention;
}
class CudaProducts;  // cuBLASLt behind a wall: only products.cu sees it

class CudaOps final : public Ops {
 public:
  CudaOps(Arena& workspace, const OpsSettings& settings);
  ~CudaOps() override;

  const char* name() const override { return "cuda"; }
  Device device() const override { return Device::kCuda; }
  const Stream& stream() const override { return stream_; }

  void reserve_prepared(Weight& weight, DType compute) const override;
  int64_t prepared_bytes(int64_t n, int64_t k, DType compute) const override;
  void prepare(const Weight& weight, DType compute) const override;

  void linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const override;
  void linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const override;
  void linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                              const Tensor& x) const override;

  void layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                           const Tensor& scale, const Tensor& segment, double eps) const override;
  void layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                    const Tensor& dy, const Tensor& x, const Tensor& stats,
                                    const Tensor& scale, const Tensor& segment) const override;
  void layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                  const Tensor& bias, double eps) const override;
  void layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                           const Tensor& x, const Tensor& stats, const Tensor& weight) const override;
  void rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                     const Tensor& rotation, int64_t num_heads, double eps) const override;
  void rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy, const Tensor& x,
                              const Tensor& rstd, const Tensor& weight, const Tensor& rotation,
                              int64_t num_heads) const override;

  void activate(const Tensor& y, const Tensor& x, Activation activation) const override;
  void activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                         Activation activation) const override;
  void gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                     const Tensor& segment) const override;
  void gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                              const Tensor& branch, const Tensor& gate, const Tensor& segment) const override;
  void convert(const Tensor& y, const Tensor& x) const override;
  void add(const Tensor& y, const Tensor& x) const override;
  void add_row(const Tensor& y, const Tensor& x, const Tensor& row) const override;
  void add_row_backward(const Tensor& drow, const Tensor& dy) const override;

  void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                 std::span<const AttentionItem> items, int64_t num_heads, double scale,
                 bool accumulate) const override;
  void attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                       int64_t num_heads) const override;
  void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                          const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& lse, const Tensor& delta, std::span<const AttentionItem> items,
                          int64_t num_heads, double scale) const override;

  double squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y, const Tensor& target,
                       const Tensor& weight, double grad_scale) const override;
  double sum_squares(const Tensor& x) const override;
  void flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                   std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const override;
  void flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction, int64_t channels,
                     double divisor) const override;
  void guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional, double guidance,
                   double step) const override;
  void adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
             const Tensor& grad, const AdamwStep& step) const override;

 private:
  /// The weight [N, K] in the type of products.
  Tensor product_weight(const char* op, const Weight& weight, DType compute) const;
  /// Waits for a number in device memory.
  double read(const double* on_device) const;

  Arena& workspace_;
  Stream stream_{Device::kCuda};
  std::unique_ptr<CudaProducts> products_;
  std::unique_ptr<cuda::CudnnAttention> cudnn_;  ///< null: own kernels alone
  std::shared_ptr<void> readback_;               ///< page-locked memory of one number
};

}  // namespace zoetrope
