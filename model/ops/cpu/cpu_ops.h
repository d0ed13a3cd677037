// The CPU backend of the operator interface: oneDNN matrix products (matmul.cpp, products.cpp), own
// vectorised kernels for the rest, threads from the one pool. Results of own kernels don't depend on the
// thread count.
#pragma once

#include <functional>
#include <memory>

#include "model/ops/ops.h"

namespace zoetrope {

class Products;  // oneDNN behind a wall: only products.cpp sees it

/// How products of bf16 tensors run: own AMX kernels, oneDNN's, or oneDNN's f32 products on bf16-rounded
/// operands.
enum class Bf16Products { kPanels, kLibrary, kWidened };
/// The fastest that this processor, and the program as compiled, can run.
Bf16Products best_bf16_products();

class CpuOps final : public Ops {
 public:
  CpuOps(const ThreadPool& pool, Arena& workspace, Bf16Products bf16_products = best_bf16_products());
  ~CpuOps() override;

  const char* name() const override { return "cpu"; }
  Device device() const override { return Device::kCpu; }
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
  void zero(const Tensor& x) const override;
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
  void set_progress(std::function<void()> progress) const override { progress_ = std::move(progress); }

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
  void check_weight(const char* op, const Weight& weight, DType compute) const;
  void prepare_panels(const Weight& weight) const;
  /// y [T, N] = x [T, K] b + bias in the way that fits; b is `panels`, or `plain` [K, N], or [N, K] if
  /// `transposed`.
  void run(const Tensor& y, const Tensor& x, const Tensor& panels, const Tensor& plain, bool transposed,
           const Tensor& bias) const;
  void run_panels(const Tensor& y, const Tensor& x, const Tensor& panels, const Tensor& bias) const;
  void run_library(const Tensor& y, const Tensor& x, const Tensor& b, bool transposed,
                   const Tensor& bias) const;
  void run_widened(const Tensor& y, const Tensor& x, const Tensor& b, bool transposed,
                   const Tensor& bias) const;
  /// dweight += dy^T x, one function for each way; on panels dbias += sum of dy too.
  void sum_panels(const Tensor& dweight, const Tensor& dbias, const Tensor& dy, const Tensor& x) const;
  void sum_library(const Tensor& dweight, const Tensor& dy, const Tensor& x) const;
  void sum_widened(const Tensor& dweight, const Tensor& dy, const Tensor& x) const;

  const ThreadPool& pool_;
  Arena& workspace_;
  Stream stream_{Device::kCpu};
  std::unique_ptr<Products> products_;
  Bf16Products bf16_products_;
  mutable std::function<void()> progress_;
};

/// Work space of products on packed panels with operands as wide as [*, n] and [*, k]. Units: bytes.
int64_t panel_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k);
/// This backend's part of `ops_workspace_bytes` and of `precision_support`.
int64_t cpu_workspace_bytes(int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute);
PrecisionSupport cpu_precision_support(DType compute);

}  // namespace zoetrope
